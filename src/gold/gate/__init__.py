"""The gate before gold: expectations hold rows back, a replay or a release opens it."""
