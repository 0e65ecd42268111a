"""The kernel: tables, micro-batches and settings. It is independent of behavioural events."""
