"""The gate before gold: what expectations hold back, and how it is let through."""
