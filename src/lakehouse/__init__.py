"""The kernel: tables, streams and settings. It knows nothing of clicks."""
