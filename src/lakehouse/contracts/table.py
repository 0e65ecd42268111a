"""Contracts of published tables: columns, grain, key, event time, inputs and writer."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

DELETED = "_gone"
"""Column of changes to a table: whether the row with that key is deleted."""

LOG_ENTRIES = "delta.logRetentionDuration"

TWO_WRITERS_LOG = timedelta(days=7)

TWO_WRITERS = {LOG_ENTRIES: f"interval {TWO_WRITERS_LOG // timedelta(hours=1)} hours"}
"""Properties of a table with two writers: an interrupted job finds its high-water mark in the log."""

STALE_AFTER = timedelta(minutes=2)
"""Longer than any micro-batch, and than the pauses of jobs and summaries."""


@dataclass(frozen=True)
class Column:
    """One column: its name, Spark SQL type and meaning.

    Args:
        name: as other programs know it.
        type: a Spark SQL type, in lower case.
        meaning: one line, with the unit if there is one.
        provenance: whether the value depends on the order of arrival, not only on the events.
    """

    name: str
    type: str
    meaning: str
    provenance: bool = False


@dataclass(frozen=True)
class Table:
    """A published table.

    Args:
        name: `layer.table`.
        grain: what one row represents.
        key: the columns that identify a row; empty for change logs.
        columns: in the order they are written.
        summary: one row, in a sentence.
        inputs: tables that it is computed from; the first is what there has to be for it to have rows.
        writer: the first job that writes rows of an ingest stamp to it; empty if every job does.
        cadence: when the writer commits: with each `batch`, at intervals as a `summary`, or on a `schedule`.
        event_time: the event time of a row; None if it has none.
        partitioned_by: partition columns.
        stats_columns: columns with file statistics; empty for Delta's default.
        properties: Delta table properties beyond the defaults.
        is_mutable: whether recent rows are merged into again and again.
        expiry: column and age from which on maintenance deletes a row; None: rows stay.
    """

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    summary: str = ""
    inputs: tuple[str, ...] = ()
    writer: str = ""
    cadence: Literal["batch", "summary", "schedule"] = "batch"
    event_time: str | None = None
    partitioned_by: tuple[str, ...] = ()
    stats_columns: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    is_mutable: bool = False
    expiry: tuple[str, timedelta] | None = None

    @property
    def layer(self) -> str:
        """The part of the name before the dot."""
        return self.name.split(".")[0]

    @property
    def short_name(self) -> str:
        """The part of the name after the dot."""
        return self.name.split(".")[1]

    @property
    def stale_after(self) -> timedelta | None:
        """How far its writer may be behind before it is stale; None on a schedule or without a writer."""
        return None if self.cadence == "schedule" or not self.writer else STALE_AFTER

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def deterministic_columns(self) -> tuple[str, ...]:
        """The columns that do not depend on the order of arrival."""
        return tuple(column.name for column in self.columns if not column.provenance)

    @property
    def ddl(self) -> str:
        """The columns as in a `CREATE TABLE` of Spark SQL."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)
