"""The state of the gate before gold: the latest row of ops.gates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.errors import MillraceError
from lakehouse.quality.evaluation import Result
from lakehouse.quality.results import run_id_of
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.rows.driver_or_spark import local_rows
from lakehouse.run.ledger import now
from lakehouse.timestamps import from_micros, to_micros

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


class GateLog:
    """Reads and writes ops.gates for one job.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake

    def last(self) -> GateEvent | None:
        """The latest event; None if the gate has never been closed."""
        return max(self._changes(), key=_SEQUENCE, default=None)

    def rebuild_pending(self) -> bool:
        """Whether a replay has rebuilt silver and was interrupted before its end."""
        ends = (change for change in self._changes() if change.state in (REPLAYED, OPENED, RELEASED))
        last = max(ends, key=_SEQUENCE, default=None)
        return last is not None and last.state == REPLAYED

    def released(self) -> set[str]:
        """run_id of evaluations whose rows were released unchanged."""
        return {change.run_id for change in self._changes() if change.state == RELEASED}

    def close(self, job: str, after: datetime, upto: datetime, stopping: Sequence[Result]) -> GateEvent:
        """Close the gate for the rows between two ingest stamps, for expectations that were not met."""
        reasons = tuple(result.expectation.id for result in stopping)
        return self.write(GateEvent(CLOSED, run_id_of(job, after, upto), after, upto, reasons))

    def write(self, change: GateEvent) -> GateEvent:
        """Append an event."""
        last = self.last()
        written = replace(change, sequence=last.sequence + 1 if last else 0)
        values = {name: _stored(value) for name, value in vars(written).items()}
        fields = list(arrow_schema(TABLES[NAME]))
        row = tuple(values[field.name] for field in fields)
        self._lake.append(NAME, local_rows(fields, [row]))
        return written

    def _changes(self) -> Iterator[GateEvent]:
        columns = TABLES[NAME].column_names
        for row in rows_of(self._lake.find(NAME, Lookup(columns)), columns):
            read = dict(zip(columns, row, strict=True))
            instants = {name: from_micros(read[name]) for name in ("after", "upto", "at")}
            yield GateEvent(**{**read, **instants, "reasons": tuple(read["reasons"] or ())})


def _stored(value: Any) -> Any:
    """A value as it is stored: times in microseconds."""
    return to_micros(value) if isinstance(value, datetime) else value


def require_open(lake: Lakehouse) -> None:
    """Raise a MillraceError while rows are held back; for jobs that read all of silver."""
    last = GateLog(lake).last()
    if last and last.holds:
        raise MillraceError(
            f"the gate before gold is closed: {'; '.join(last.reasons)}",
            "See `millrace quality`; then `millrace replay` or `millrace release`",
        )
