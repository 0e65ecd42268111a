"""Processes in which queries run: each ends with its query, and takes its memory with it."""
