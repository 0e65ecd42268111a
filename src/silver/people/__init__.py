"""People: identities of visitors, and bots."""
