"""The gate before gold, as the table ops.gates has it: the latest row says how it is."""

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
class Change:
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
        """Whether rows are held."""
        return self.state in (CLOSED, REPLAYED)


class Gates:
    """The table, as one job reads and writes it.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake

    def last(self) -> Change | None:
        """How the gate is; None if it has never been closed."""
        return max(self._changes(), key=_SEQUENCE, default=None)

    def owe_rebuild(self) -> bool:
        """Whether silver was made anew by a replay that has not been brought to its end."""
        ends = (change for change in self._changes() if change.state in (REPLAYED, OPENED, RELEASED))
        last = max(ends, key=_SEQUENCE, default=None)
        return last is not None and last.state == REPLAYED

    def released(self) -> set[str]:
        """run_id of the looks whose rows somebody has let through as they are."""
        return {change.run_id for change in self._changes() if change.state == RELEASED}

    def close(self, job: str, after: datetime, upto: datetime, stopping: Sequence[Result]) -> Change:
        """Hold the rows between two ingest stamps, for what is not as expected of them."""
        reasons = tuple(result.expectation.id for result in stopping)
        return self.write(Change(CLOSED, run_id_of(job, after, upto), after, upto, reasons))

    def write(self, change: Change) -> Change:
        """Add a change after the last one."""
        last = self.last()
        written = replace(change, sequence=last.sequence + 1 if last else 0)
        values = {name: _stored(value) for name, value in vars(written).items()}
        fields = list(arrow_schema(TABLES[NAME]))
        row = tuple(values[field.name] for field in fields)
        self._lake.append(NAME, local_rows(fields, [row]))
        return written

    def _changes(self) -> Iterator[Change]:
        columns = TABLES[NAME].column_names
        for row in rows_of(self._lake.find(NAME, Lookup(columns)), columns):
            read = dict(zip(columns, row, strict=True))
            instants = {name: from_micros(read[name]) for name in ("after", "upto", "at")}
            yield Change(**{**read, **instants, "reasons": tuple(read["reasons"] or ())})


def _stored(value: Any) -> Any:
    """A value as a row has it: times in microseconds."""
    return to_micros(value) if isinstance(value, datetime) else value


def require_open(lake: Lakehouse) -> None:
    """Raise a MillraceError while rows are held: who takes in all of silver would take them in too."""
    last = Gates(lake).last()
    if last and last.holds:
        raise MillraceError(
            f"the gate before gold is closed: {'; '.join(last.reasons)}",
            "See `millrace quality`; then `millrace replay` or `millrace release`",
        )
