"""The HTTP collector: events of Segment and RudderStack clients, kept before they are acknowledged."""
