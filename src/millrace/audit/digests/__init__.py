"""Digests of files: recorded after each commit, compared by `millrace audit --bytes`."""
