"""Recording while a Spark application runs: once a minute, and when it ends."""

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lakehouse.settings import Settings

_PAUSE_SECONDS = 60.0
_LAST_SECONDS = 5.0
"""Of the last time: whoever ends an application waits for it."""


@contextmanager
def recorded_digests(settings: Settings, pause: float = _PAUSE_SECONDS) -> Iterator[None]:
    """While this lasts, and once more at the end, record digests of the files that jobs add.

    Files of a minute ago are still in the system's page cache, so that no disk is read. What can't be
    recorded now is recorded the next time: jobs go on.

    Args:
        settings: the settings in force. Files of a catalog are its store's.
        pause: seconds from one time to the next.
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
        except Exception as error:  # noqa: BLE001 - whatever it was: jobs go on, and it is tried again
            sys.stderr.write(f"digests were not recorded: {' '.join(str(error).split())}\n")
