"""Records digests while a Spark application runs: once a minute, and at its end."""

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lakehouse.settings import Settings

_PAUSE_SECONDS = 60.0
_LAST_SECONDS = 5.0
"""Time limit (s) of the last recording, for which the end of an application waits."""


@contextmanager
def recorded_digests(settings: Settings, pause: float = _PAUSE_SECONDS) -> Iterator[None]:
    """Record digests of the files that jobs add, during the block and once at its end.

    New files are still in the page cache, so nothing is read from disk. A failed recording is retried the
    next time; jobs continue.

    Args:
        settings: the settings in force. Tables in a catalog are not recorded.
        pause: seconds between two recordings.
    """
    if settings.catalog:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_record_until, args=(settings, pause, stop), name="digests", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _record_until(settings: Settings, pause: float, stop: threading.Event) -> None:
    from millrace.audit.digests.recorder import DigestRecorder

    recorder, is_last = DigestRecorder(settings), False
    while not is_last:
        is_last = stop.wait(pause)
        try:
            recorder.record(_LAST_SECONDS if is_last else math.inf)
        except Exception as error:  # noqa: BLE001 - jobs continue after any error, and it is retried
            sys.stderr.write(f"digests were not recorded: {' '.join(str(error).split())}\n")
