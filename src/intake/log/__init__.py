"""The collector's log: messages are durable here before they are acknowledged."""
