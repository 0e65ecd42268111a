"""The gate before gold, as the table ops.gates has it: the latest row says how it is."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.expectations.results import run_id_of
from lakehouse.expectations.verdicts import Result
from lakehouse.instants import as_utc
from lakehouse.ledger import now
from lakehouse.tables import Lakehouse

NAME = "ops.gates"
CLOSED, REPLAYED, OPENED, RELEASED = "closed", "replayed", "opened", "released"


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
        rows = self._lake.read(NAME).orderBy(F.desc("sequence")).limit(1).collect()
        if not rows:
            return None
        told: dict[str, Any] = rows[0].asDict()
        instants = {name: as_utc(told[name]) for name in ("after", "upto", "at")}
        return Change(**{**told, **instants, "reasons": tuple(told["reasons"] or ())})

    def owe_rebuild(self) -> bool:
        """Whether silver was made anew by a replay that has not been brought to its end."""
        ends = self._lake.read(NAME).where(F.col("state").isin(REPLAYED, OPENED, RELEASED))
        rows = ends.orderBy(F.desc("sequence")).limit(1).collect()
        return bool(rows) and rows[0].state == REPLAYED

    def close(self, job: str, after: datetime, upto: datetime, stopping: Sequence[Result]) -> Change:
        """Hold the rows between two ingest stamps, for what is not as expected of them."""
        reasons = tuple(result.expectation.id for result in stopping)
        return self.write(Change(CLOSED, run_id_of(job, after, upto), after, upto, reasons))

    def write(self, change: Change) -> Change:
        """Add a change after the last one."""
        last = self.last()
        written = replace(change, sequence=last.sequence + 1 if last else 0)
        values = {**vars(written), "reasons": F.array(*map(F.lit, written.reasons))}
        columns = [
            (value if name == "reasons" else F.lit(value)).cast(column.type).alias(name)
            for column in TABLES[NAME].columns
            for name, value in [(column.name, values[column.name])]
        ]
        self._lake.append(NAME, self._lake.spark.range(1).coalesce(1).select(*columns))
        return written


def require_open(lake: Lakehouse) -> None:
    """Raise a MillraceError while rows are held: who takes in all of silver would take them in too."""
    last = Gates(lake).last()
    if last and last.holds:
        raise MillraceError(
            f"the gate before gold is closed: {'; '.join(last.reasons)}",
            "See `millrace quality`; then `millrace replay` or `millrace release`",
        )
