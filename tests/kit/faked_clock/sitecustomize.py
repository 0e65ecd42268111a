"""Sleeps with `select`: libfaketime 0.9.10 rejects the system call of `time.sleep` since Python 3.11."""

import select
import time


def sleep(seconds: float) -> None:
    """Wait like `time.sleep`."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = sleep
