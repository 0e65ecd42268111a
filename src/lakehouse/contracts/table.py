"""How a published table is declared: its columns, grain, key and event time."""

from dataclasses import dataclass, field

DELETED = "_gone"
"""The column of changes to a table that says which rows go."""

TWO_WRITERS = {"delta.logRetentionDuration": "interval 7 days"}
"""Properties of a table that two jobs rewrite: one that was broken off asks the log how far it had come."""


@dataclass(frozen=True)
class Column:
    """One column: its name, Spark SQL type and meaning.

    Args:
        name: as other programs know it.
        type: a Spark SQL type, in lower case.
        meaning: one line, with the unit where there is one.
        provenance: true if the value follows from the order of arrival, not from the events.
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
        grain: what one row stands for.
        key: the columns that tell its rows apart.
        columns: in the order they are written.
        event_time: the column that says when a row happened, if one does.
        partitioned_by: the columns its files are laid out by.
        pruned_by: the columns that files are left out by, where not every column is worth statistics.
        properties: Delta table properties beyond the house defaults.
        is_swapped: whether rows near each other in time are put in the place of others, again and again.
    """

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    event_time: str | None = None
    partitioned_by: tuple[str, ...] = ()
    stats_columns: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    is_mutable: bool = False

    @property
    def layer(self) -> str:
        """The part of the name before the dot."""
        return self.name.split(".")[0]

    @property
    def short_name(self) -> str:
        """The part of the name behind the dot."""
        return self.name.split(".")[1]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def deterministic_columns(self) -> tuple[str, ...]:
        """The columns that do not depend on the order of arrival."""
        return tuple(column.name for column in self.columns if not column.provenance)

    @property
    def ddl(self) -> str:
        """The columns as Spark SQL declares them."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)
