"""What follows from the contracts' inputs and writers: downstream tables, jobs, and the pins of the gate."""

from collections.abc import Collection
from graphlib import TopologicalSorter

from lakehouse.contracts import TABLES, Table

OPTIONAL_JOBS = frozenset({"dimensions"})
"""Jobs that have nothing to do where there is no shop's database, and may never run there."""


def downstream_of(names: Collection[str]) -> tuple[str, ...]:
    """Tables computed from these, directly or through others, in the order of `TABLES`; these excluded."""
    found = set(names)
    while grown := {table.name for table in TABLES.values() if found & set(table.inputs)} - found:
        found |= grown
    return tuple(name for name in TABLES if name in found - set(names))


def tables_of(layer: str) -> tuple[Table, ...]:
    """The tables of a layer."""
    return tuple(table for table in TABLES.values() if table.layer == layer)


def upstream_jobs() -> dict[str, str | None]:
    """Continuous jobs in the order of the data flow, each with its upstream job; None for the first.

    Of jobs that write inputs of a job's tables, its upstream job is the first one. Others are side inputs.
    """
    tables = [table for table in TABLES.values() if table.writer and table.cadence != "schedule"]
    writers = {table.name: table.writer for table in tables}
    inputs: dict[str, list[str]] = {job: [] for job in writers.values()}
    for table in tables:
        of_inputs = (writers.get(name, table.writer) for name in table.inputs)
        inputs[table.writer] += [job for job in of_inputs if job != table.writer]
    order = tuple(TopologicalSorter(inputs).static_order())
    return {job: min(inputs[job], key=order.index, default=None) for job in order}


def first_writers(layer: str) -> dict[str, str]:
    """By table of a layer, the job that first writes rows of an ingest stamp to it."""
    return {table.name: table.writer for table in tables_of(layer)}
