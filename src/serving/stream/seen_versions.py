"""Records the table versions that one reader of the API has seen, for ops.reads."""

import json
import time
from collections.abc import Callable, Mapping

from lakehouse.access.read_log import Reads
from serving.stream.wanted import Wanted

_SECONDS = 60.0


class SeenVersions:
    """Records the first versions, later ones once a minute, and the last ones.

    Args:
        reads: the log of reads; None: nothing is recorded.
        reader: name of the reader.
        role: name of their role.
        wanted: the table or query that is followed.
        clock: monotonic clock (s).
    """

    def __init__(
        self,
        reads: Reads | None,
        reader: str,
        role: str,
        wanted: Wanted,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reads = reads
        self._reader = reader
        self._role = role
        self._wanted = wanted
        self._clock = clock
        self._noted: Mapping[str, int] = {}
        self._noted_at = 0.0
        self._last: Mapping[str, int] = {}

    def note(self, versions: Mapping[str, int]) -> None:
        """Note that the reader sees these versions.

        Args:
            versions: versions by table; empty if a message has none.
        """
        self._last = versions or self._last
        if not self._noted or self._clock() - self._noted_at >= _SECONDS:
            self._write()

    def end(self) -> None:
        """Record the last versions."""
        self._write()

    def _write(self) -> None:
        if self._reads is None or not self._last or self._last == self._noted:
            return
        self._noted, self._noted_at = self._last, self._clock()
        self._reads.note(self._reader, self._role, "api", self._noted, subject_of(self._wanted))


def subject_of(wanted: Wanted) -> str:
    """A query, or a table with its conditions and columns, as text."""
    if wanted.sql is not None:
        return wanted.sql
    where = f" where {json.dumps(dict(wanted.where), ensure_ascii=False)}" if wanted.where else ""
    select = f" select {', '.join(wanted.select)}" if wanted.select else ""
    return f"{wanted.table}{where}{select}"
