"""The gate before gold: failed expectations close it, a replay or a release opens it."""
