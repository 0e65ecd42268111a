"""What follows from the contracts' inputs and writers: downstream tables, and the pins of the gate."""

from collections.abc import Collection

from lakehouse.contracts import TABLES, Table


def downstream_of(names: Collection[str]) -> tuple[str, ...]:
    """Tables computed from these, directly or through others, in the order of `TABLES`; these excluded."""
    found = set(names)
    while grown := {table.name for table in TABLES.values() if found & set(table.inputs)} - found:
        found |= grown
    return tuple(name for name in TABLES if name in found - set(names))


def tables_of(layer: str) -> tuple[Table, ...]:
    """The tables of a layer."""
    return tuple(table for table in TABLES.values() if table.layer == layer)


def first_writers(layer: str) -> dict[str, str]:
    """By table of a layer, the job that first writes rows of an ingest stamp to it."""
    return {table.name: table.writer for table in tables_of(layer)}
