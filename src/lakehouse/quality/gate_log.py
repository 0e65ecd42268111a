"""The state of the gate before gold: the latest row of ops.gates."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.errors import MillraceError
from lakehouse.quality.evaluation import Result
from lakehouse.quality.results import run_id_of
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.run.ledger import now
from lakehouse.run.ledger_cache import LedgerCache, ledger_cache_of
from lakehouse.timestamps import from_micros

NAME = "ops.gates"
CLOSED, REPLAYED, OPENED, RELEASED = "closed", "replayed", "opened", "released"
_SEQUENCE = attrgetter("sequence")


@dataclass(frozen=True)
class GateEvent:
    """A row of ops.gates; `after` and `upto` are ingest stamps."""

    state: str
    run_id: str
    after: datetime
    upto: datetime
    reasons: tuple[str, ...] = ()
    who: str | None = None
    why: str | None = None
    sequence: int = 0
    at: datetime = field(default_factory=now)

    @property
    def holds(self) -> bool:
        """Whether rows are held back."""
        return self.state in (CLOSED, REPLAYED)


_WRITING = threading.RLock()
_EVENTS: WeakKeyDictionary[LedgerCache[Any], tuple[GateEvent, ...]] = WeakKeyDictionary()
"""Events of a home that only this application writes. Jobs and commands share them."""


class GateLog:
    """Reads and writes ops.gates for one job.

    While this application is the only writer of a home, it reads the table once.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        self._cache = ledger_cache_of(lake.settings)

    def last(self) -> GateEvent | None:
        """The latest event; None if the gate has never been closed."""
        return max(self._events(), key=_SEQUENCE, default=None)

    def rebuild_pending(self) -> bool:
        """Whether a replay has rebuilt silver and was interrupted before its end."""
        ends = (event for event in self._events() if event.state in (REPLAYED, OPENED, RELEASED))
        last = max(ends, key=_SEQUENCE, default=None)
        return last is not None and last.state == REPLAYED

    def released(self) -> set[str]:
        """run_id of evaluations whose rows were released unchanged."""
        return {event.run_id for event in self._events() if event.state == RELEASED}

    def close(self, job: str, after: datetime, upto: datetime, stopping: Sequence[Result]) -> GateEvent:
        """Close the gate for the rows between two ingest stamps, for expectations that were not met."""
        reasons = tuple(result.expectation.id for result in stopping)
        return self.write(GateEvent(CLOSED, run_id_of(job, after, upto), after, upto, reasons))

    def write(self, event: GateEvent) -> GateEvent:
        """Append an event."""
        with _WRITING:
            events, last = self._events(), self.last()
            written = replace(event, sequence=last.sequence + 1 if last else 0)
            if self._cache:
                _EVENTS.pop(self._cache, None)  # read again if the commit fails
            self._lake.append(NAME, pa.Table.from_pylist([vars(written)], arrow_schema(TABLES[NAME])))
            if self._cache:
                _EVENTS[self._cache] = (*events, written)
            return written

    def _events(self) -> tuple[GateEvent, ...]:
        if self._cache is None:
            return tuple(self._read())
        with _WRITING:
            if self._cache not in _EVENTS:
                _EVENTS[self._cache] = tuple(self._read())
            return _EVENTS[self._cache]

    def _read(self) -> Iterator[GateEvent]:
        """All events: a few for each time that the gate was closed."""
        columns = TABLES[NAME].column_names
        for row in rows_of(self._lake.find(NAME, lambda rows: rows.select(*columns)), columns):
            read = dict(zip(columns, row, strict=True))
            times = {name: from_micros(read[name]) for name in ("after", "upto", "at")}
            yield GateEvent(**{**read, **times, "reasons": tuple(read["reasons"] or ())})


def require_open(lake: Lakehouse) -> None:
    """Raise a MillraceError while rows are held back; for jobs that read all of silver."""
    last = GateLog(lake).last()
    if last and last.holds:
        raise MillraceError(
            f"the gate before gold is closed: {'; '.join(last.reasons)}",
            "See `millrace quality`; then `millrace replay` or `millrace release`",
        )
