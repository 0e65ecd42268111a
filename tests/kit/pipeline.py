"""Runs the real jobs on a test's bronze, and compares their tables with the oracle."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from gold.publish_job import publish
from kit.oracle import Oracle
from kit.oracle_sketches import exact_sketches, read_sketches
from kit.oracle_wire import micros
from lakehouse.contracts import TABLES
from lakehouse.contracts.shop import DIMENSIONS
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from shop.dimensions_job import dimensions
from silver.refine_job import refine
from silver.repair_job import repair

JOBS: dict[str, Callable[[JobContext], None]] = {"refine": refine, "repair": repair, "publish": publish}
_MORE_JOBS = {"dimensions": dimensions}
_PLACE = ("topic", "partition", "offset")
_MORE = {  # provenance columns that are known, since the test sets the order of arrival
    "silver.events": (*_PLACE, "arrival_time"),
    "silver.rejected_events": _PLACE,
    "silver.duplicate_events": (*_PLACE, "first_topic", "first_partition", "first_offset"),
    "silver.exchange_rates": _PLACE,
    "silver.cost_records": _PLACE,
    "silver.shop_changes": _PLACE,
    "silver.rejected_changes": _PLACE,
}
_UNKNOWN = {"silver.events": ("properties", "event_hash"), "silver.shop_changes": ("row_hash",)}
_READ_AS = {"gold.sketches": read_sketches}


def run_jobs(spark: SparkSession, settings: Settings, *jobs: str) -> None:
    """Run jobs one after the other until they have caught up; all jobs by default."""
    for job in jobs or JOBS:
        (JOBS | _MORE_JOBS)[job](JobContext(job, spark.newSession(), settings, once=True))


def read_rows(settings: Settings, table: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of a table, read without Spark, with times in microseconds. Empty if it does not exist."""
    folder = Path(settings.warehouse, *table.split("."))
    if not any((folder / "_delta_log").glob("*.json")):
        return []
    rows = DeltaTable(folder).to_pyarrow_table(columns=list(columns)).to_pylist()
    return [plain(row) for row in rows]


def empty_tables(settings: Settings, names: Iterable[str]) -> None:
    """Delete all rows of those of the tables that exist, to show that a rebuild does not need them."""
    for name in names:
        folder = Path(settings.warehouse, *name.split("."))
        if DeltaTable.is_deltatable(str(folder)):
            DeltaTable(folder).delete()


def expected_rows(oracle: Oracle) -> dict[str, Callable[[], list[dict[str, Any]]]]:
    """Functions that return the oracle's expected rows, by table."""
    return {
        "silver.events": lambda: oracle.events,
        "silver.rejected_events": lambda: oracle.rejected,
        "silver.duplicate_events": lambda: oracle.duplicates,
        "silver.sessions": lambda: oracle.sessions,
        "silver.impressions": lambda: oracle.impressions,
        "silver.searches": lambda: oracle.searches,
        "silver.search_results": lambda: oracle.search_results,
        "silver.identities": lambda: oracle.identities,
        "silver.bots": lambda: oracle.bots,
        "silver.consents": lambda: oracle.consents,
        "silver.exchange_rates": lambda: oracle.rates,
        "silver.cost_records": lambda: oracle.cost_records,
        "silver.campaign_costs": lambda: oracle.campaign_costs,
        "silver.shop_changes": lambda: oracle.shop_changes,
        "silver.rejected_changes": lambda: oracle.rejected_changes,
        **{name: partial(oracle.versions_of, name) for name in DIMENSIONS},
        "gold.conversion_items": lambda: oracle.conversion_items,
        "gold.order_comparisons": lambda: oracle.order_comparisons,
        "gold.persons": lambda: oracle.persons,
        "gold.visitor_timeline": lambda: oracle.timeline,
        "gold.conversions": lambda: oracle.gold.conversions,
        "gold.attribution": lambda: oracle.gold.attribution,
        "gold.touches": lambda: oracle.gold.touches,
        "gold.trails": lambda: oracle.gold.trails,
        "gold.traffic": lambda: oracle.windows.traffic,
        "gold.campaign_performance": lambda: oracle.windows.campaigns,
        "gold.search_performance": lambda: oracle.windows.search_performance,
        "gold.result_performance": lambda: oracle.windows.result_performance,
        "gold.promotion_performance": lambda: oracle.windows.promotion_performance,
        "gold.funnel": lambda: oracle.windows.funnel,
        "gold.dimension_performance": lambda: oracle.windows.dimensions,
        "gold.funnel_by_dimension": lambda: oracle.windows.funnel_by_dimension,
        "gold.sketches": lambda: exact_sketches(oracle.gold),
    }


def assert_as_the_oracle(
    settings: Settings, oracle: Oracle, *layers: str, left_out: Collection[str] = ()
) -> None:
    """Compare all tables, or those of some layers, with the oracle, except the tables in `left_out`.

    Raises:
        AssertionError: with the first missing and unexpected rows.
    """

    def read(table: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        return read_rows(settings, table, columns)

    assert_same(oracle, read, *layers, left_out=left_out)


def assert_same(
    oracle: Oracle,
    read: Callable[[str, Sequence[str]], list[dict[str, Any]]],
    *layers: str,
    left_out: Collection[str] = (),
) -> None:
    """Compare tables with the oracle; `read` returns the rows of a table."""
    reported = []
    for table, rows in expected_rows(oracle).items():
        if table in left_out or (layers and TABLES[table].layer not in layers):
            continue
        columns = (*TABLES[table].deterministic_columns, *_MORE.get(table, ()))
        columns = tuple(name for name in columns if name not in _UNKNOWN.get(table, ()))
        wanted = Counter(_line(columns, plain(row)) for row in rows())
        as_wanted = _READ_AS.get(table, dict)
        found = Counter(_line(columns, as_wanted(row)) for row in read(table, columns))
        if wanted == found:
            continue
        missing, extra = (
            sorted((one - other).elements()) for one, other in ((wanted, found), (found, wanted))
        )
        listed = "\n".join(["missing:", *missing[:4], "too many:", *extra[:4]])
        counts = (
            f"{wanted.total()} rows wanted, {found.total()} found, {len(missing)} missing, {len(extra)} extra"
        )
        reported.append(f"{table}: {counts}\n{listed}")
    if reported:
        raise AssertionError("\n".join(reported))


def _line(columns: Sequence[str], row: dict[str, Any]) -> str:
    return " ".join(f"{name}={shown(row[name])}" for name in columns)


def shown(value: object) -> str:
    """A value as text. Floats have 12 digits: `pow` differs between engines beyond that."""
    return f"{value:.12g}" if isinstance(value, float) else repr(value)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with times in microseconds and comparable values."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, bytearray):
        return bytes(value)
    return (
        micros(value if value.tzinfo else value.replace(tzinfo=timezone.utc))
        if isinstance(value, datetime)
        else value
    )
