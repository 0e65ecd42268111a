"""The command line, and the local workspace behind it."""
