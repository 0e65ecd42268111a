"""Sleep by `select`: libfaketime 0.9.10 refuses the call that `time.sleep` makes since Python 3.11."""

import select
import time


def sleep(seconds: float) -> None:
    """Wait as `time.sleep` does."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = sleep
