"""Follows conf/sources.yml, so that a write key can be replaced while the collector runs."""

import logging
import time
from pathlib import Path

from intake.sources import FILE, Acknowledge, Sources, load_sources
from lakehouse.errors import MillraceError

_LOG = logging.getLogger(__name__)
_SECONDS = 1.0  # between two checks


class SourcesFile:
    """The sources as the file has them now. While the file is not valid or has none, those before stay.

    Without sources, any client of this machine may send, as a proxy is one: a file that is being written
    must not open the collector.

    Args:
        conf: folder of the file.
        acknowledge: where events are durable when they are acknowledged; None as each source says.

    Raises:
        MillraceError: if the file is not valid at first.
    """

    def __init__(self, conf: Path, acknowledge: Acknowledge | None = None) -> None:
        self._conf = conf
        self._acknowledge = acknowledge
        self._state = self._read_state()
        self._sources = self._load()
        self._looked_at = time.monotonic()

    def current(self) -> Sources:
        """The sources; checks the file at most once a second."""
        now = time.monotonic()
        if now - self._looked_at >= _SECONDS:
            self._looked_at = now
            state = self._read_state()
            if state != self._state:
                self._state = state
                self._reload()
        return self._sources

    def _reload(self) -> None:
        try:
            sources = self._load()
        except (MillraceError, OSError) as error:
            _LOG.warning("the sources stay as they were: %s", error)
            return
        if self._sources.declared and not sources.declared:
            _LOG.warning("the sources stay as they were: conf/%s has none", FILE)
            return
        self._sources = sources

    def _load(self) -> Sources:
        sources = load_sources(self._conf)
        return sources if self._acknowledge is None else sources.acknowledged_by(self._acknowledge)

    def _read_state(self) -> tuple[int, int] | None:
        try:
            state = (self._conf / FILE).stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size
