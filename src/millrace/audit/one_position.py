"""The versions that the audit compares: those of the jobs' last micro-batches in ops.ledger."""

from collections.abc import Mapping

import narwhals as nw

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.costs import COST_RECORDS
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES
from lakehouse.contracts.ops import ERASED_RECORDS, LEDGER
from lakehouse.contracts.silver import (
    DUPLICATE_EVENTS,
    EVENTS,
    EXCHANGE_RATES,
    IDENTITIES,
    REJECTED_EVENTS,
)
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH, to_micros
from millrace.tables.pins import Versions, pinned
from millrace.tables.table_scan import commits, rows_of, scan

_SILVER = (EVENTS, REJECTED_EVENTS, DUPLICATE_EVENTS, EXCHANGE_RATES, COST_RECORDS)
_GOLD = (CONVERSIONS, ATTRIBUTION, TOUCHES, VISITOR_MINUTES)

Marks = Mapping[str, int]
"""By key of a commit's metadata, the highest value that is read."""


def versions_at_one_position(settings: Settings) -> Versions:
    """The version of each table after the last micro-batch that its job has recorded in ops.ledger.

    A job records a micro-batch after its commits, and processes only what earlier jobs have recorded. So
    these versions have whole micro-batches, and no table is ahead of its inputs, while the jobs go on.
    gold.traffic, which is updated less often, is read as of the minutes that it sums, silver.identities as
    publish has read it, and bronze at its latest version: its rows have the ingest stamps to compare by.

    Returns:
        Versions by table, that of ops.ledger included. Latest versions if there is no ledger.
    """
    versions = {LEDGER.name: _latest_within(settings, LEDGER.name, {})}
    with pinned(versions):
        recorded = _recorded(settings)
    versions[KAFKA_RECORDS.name] = _latest_within(settings, KAFKA_RECORDS.name, {})
    for table in (*_SILVER, *_GOLD):
        marks = recorded.get(table.writer or "", {"upto": 0}) if recorded else {}
        versions[table.name] = _latest_within(settings, table.name, marks)
    read_by_publish = {"upto": recorded.get("publish", {}).get("heard", 0)} if recorded else {}
    versions[IDENTITIES.name] = _latest_within(settings, IDENTITIES.name, read_by_publish)
    with pinned(versions):
        minutes = next(
            (each for _, each in commits(settings, VISITOR_MINUTES.name) if "sequence" in each), {}
        )
    versions[TRAFFIC.name] = _latest_within(settings, TRAFFIC.name, {"minutes": minutes.get("sequence", 0)})
    versions[ERASED_RECORDS.name] = _latest_within(settings, ERASED_RECORDS.name, {})  # written first
    return versions


def _recorded(settings: Settings) -> dict[str, Marks]:
    """By job, the high-water marks in the ledger, in microseconds."""
    ledger = scan(settings, LEDGER.name)
    if ledger is None:
        return {}
    latest = ledger.group_by("job").agg(nw.col("position").max(), nw.col("heard").max())
    return {
        row["job"]: {"upto": to_micros(row["position"] or EPOCH), "heard": to_micros(row["heard"] or EPOCH)}
        for row in rows_of(latest)
    }


def _latest_within(settings: Settings, name: str, marks: Marks) -> int | None:
    """The last version before the first commit beyond the marks; None if the table does not exist."""
    found: int | None = None
    for version, metadata in commits(settings, name):
        found = version if found is None else found
        if any(metadata.get(key, 0) > most for key, most in marks.items()):
            found = version - 1
        elif not marks or metadata.keys() & marks.keys():
            break
    return None if found == -1 else found
