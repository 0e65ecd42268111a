"""The backend contract: each backend that runs locally returns the same frame for the same query."""

import json
import re
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from schema import COLUMNS
from tables.backend import Backend, ReadError
from tables.delta_backend import LocalTables
from tables.query import Measure, Query, Version, Where, sums
from tables.sql_backend import SqlTables, statement

from kit.shop_warehouse import Shop
from kit.spark import empty_home
from kit.warehouse_builder import append_rows, build_warehouse, replace_rows
from millrace.explain.gap_kinds import TAGGED_LINK

START = datetime(2026, 3, 21, 8, tzinfo=timezone.utc)
END = datetime(2026, 3, 22, 9, 30, tzinfo=timezone.utc)
MEASURES = (
    Measure("rows", "count"),
    Measure("people", "distinct", "person_id"),
    Measure("first", "min", "converted_at"),
    Measure("last", "max", "order_id"),
    *sums("reporting_value", "touches"),
)
QUERIES = {
    "columns ordered with nulls": Query(
        "gold.conversions", ("order_id", "value", "is_final"), order=("-order_id", "value", "conversion_id")
    ),
    "limit": Query("gold.conversions", ("conversion_id",), order=("-converted_at", "conversion_id"), limit=3),
    "measures over all rows": Query("gold.conversions", (), MEASURES),
    "measures over no rows": Query("gold.conversions", (), MEASURES).only("goal", "=", "none such"),
    "groups including null": Query(
        "gold.traffic", ("channel",), sums("events", "reporting_value"), order=("channel",)
    ),
    "time range": Query("gold.touches", ("touch_id",), order=("touch_id",)).within("touched_at", START, END),
    "date range": Query("gold.funnel", ("day", "step"), sums("visitors"), order=("day", "step")).only(
        "day", ">", date(2026, 3, 20)
    ),
    "in list": Query("gold.touches", ("channel",), (Measure("n", "count"),), order=("channel",)).one_of(
        "channel", ("Email", "Display")
    ),
    "not in list": Query("gold.touches", ("channel",), (Measure("n", "count"),), order=("channel",)).only(
        "channel", "not in", ("Email", "Display")
    ),
    "not equal excludes null": Query("gold.attribution", (), (Measure("n", "count"),)).only(
        "campaign_name", "!=", "x"
    ),
    "is null": Query("gold.attribution", (), (Measure("n", "count"),)).only("campaign_name", "null"),
    "is not null": Query(
        "gold.attribution", ("campaign_name",), sums("credit"), order=("campaign_name",)
    ).only("campaign_name", "not null"),
    "prefix": Query("gold.conversions", ("conversion_id",), order=("conversion_id",)).only(
        "conversion_id", "starts", "a"
    ),
    "regular expression": Query("gold.touches", ("touch_id",), order=("touch_id",)).only(
        "url", "matches", TAGGED_LINK
    ),
    "in long list": Query("gold.touches", ("touch_id",), order=("touch_id",)).only(
        "channel", "in", ("Email", *map(str, range(200)))
    ),
    "SQL injection text": Query("gold.touches", ("touch_id",)).only("channel", "=", "x' OR '1'='1"),
    "nested columns": Query("gold.conversions", ("visit",), order=("conversion_id",)),
    "bytes": Query("silver.rejected_events", ("reason", "value"), order=("offset",)),
}


def literal(value: Any) -> str:
    """A value as a Spark SQL literal: with Delta's parser, Spark 4.2 takes no query parameters."""
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat()}'"
    if isinstance(value, date):
        return f"DATE '{value}'"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


def assert_same_result(ours: Backend, theirs: Backend, query: Query) -> None:
    frames = []
    for backend in (ours, theirs):
        version = backend.version(query.table)
        assert version is not None
        frames.append(backend.run(query, version))
    assert_frame_equal(*frames, check_row_order=bool(query.order) or not query.columns, abs_tol=1e-9)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, shop: Shop) -> Path:
    home = tmp_path_factory.mktemp("asked")
    asked = {"silver.bots", *(query.table for query in QUERIES.values())}
    build_warehouse(home, {name: shop.tables[name] for name in asked})
    return home


@pytest.fixture(scope="module")
def backends(home: Path, spark: SparkSession) -> tuple[LocalTables, SqlTables]:
    empty_home(spark, home)
    for log in sorted((home / "warehouse").glob("*/*/_delta_log")):
        name = ".".join(log.parent.parts[-2:])
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {log.parent.parts[-2]}")
        spark.sql(f"CREATE TABLE {name} USING DELTA LOCATION '{log.parent}'")

    def execute(text: str, values: dict[str, Any]) -> Any:
        reported = re.sub(r":(p\d+)\b", lambda found: literal(values[found[1]]), text)
        try:
            return spark.sql(reported).toArrow()
        except AnalysisException as error:
            if "TABLE_OR_VIEW_NOT_FOUND" in str(error) or "DELTA_MISSING" in str(error):
                raise LookupError(text) from error
            raise

    return LocalTables(home / "warehouse"), SqlTables(execute)


@pytest.mark.parametrize("name", QUERIES)
def test_backends_return_equal_results(name: str, backends: tuple[LocalTables, SqlTables]) -> None:
    assert_same_result(*backends, QUERIES[name])


def test_query_reads_requested_table_version(home: Path, backends: tuple[LocalTables, SqlTables]) -> None:
    query = Query("silver.bots", (), (Measure("n", "count"),))
    both: Sequence[Backend] = backends
    before = [backend.version("silver.bots") for backend in both]
    counted = [backend.run(query, version)["n"][0] for backend, version in zip(both, before, strict=True)]
    append_rows(home, "silver.bots", [{"visitor_id": "new"}])
    replace_rows(home, "silver.bots", [{"visitor_id": "other"}])
    for backend, version, count in zip(both, before, counted, strict=True):
        assert backend.run(query, version)["n"][0] == count
        latest = backend.version("silver.bots")
        assert latest is not None
        assert latest.number == version.number + 2
        assert backend.run(query, latest)["n"][0] == 1
        assert backend.facts("silver.bots", latest).rows == 1


def test_missing_table_has_no_version(backends: tuple[LocalTables, SqlTables]) -> None:
    assert [backend.version("gold.visitor_minutes") for backend in backends] == [None, None]


def test_sql_statement_passes_values_as_parameters() -> None:
    query = Query(
        "gold.conversions", ("goal",), where=(Where("goal", "=", "'; --"), Where("value", ">", Decimal(3)))
    )
    text, values = statement(query, "`gold`.`conversions` VERSION AS OF 3")
    assert (
        text == "SELECT `goal` FROM `gold`.`conversions` VERSION AS OF 3 WHERE `goal` = :p0 AND `value` > :p1"
    )
    assert values == {"p0": "'; --", "p1": Decimal(3)}


def test_sql_statement_passes_pattern_and_long_list_as_one_parameter_each() -> None:
    names = tuple(map(str, range(101)))
    text, values = statement(
        Query("t", ("a",), where=(Where("a", "matches", "(?i)x"), Where("b", "in", names))), "t"
    )
    assert text == (
        "SELECT `a` FROM t WHERE `a` RLIKE :p0 AND array_contains(from_json(:p1, 'array<string>'), `b`)"
    )
    assert values == {"p0": "(?i)x", "p1": json.dumps(names)}


def test_column_missing_in_older_table_is_read_as_null() -> None:
    query = Query("gold.funnel", ("day", "step"))

    def execute(text: str, values: dict[str, Any]) -> pa.Table:
        if text.startswith("SELECT `day`, `step` FROM `gold`"):
            raise ValueError("UNRESOLVED_COLUMN: `step`")
        if text.startswith("SELECT * "):
            return pa.table({"day": pa.array([], pa.date32()), "visitors": pa.array([], pa.int64())})
        assert text == (
            "SELECT `day`, `step` FROM"
            " (SELECT *, CAST(NULL AS STRING) AS `step` FROM `gold`.`funnel` VERSION AS OF 3)"
        )
        return pa.table({"day": [date(2026, 3, 1)], "step": pa.array([None], pa.string())})

    assert SqlTables(execute).run(query, Version(3)).rows() == [(date(2026, 3, 1), None)]


def test_missing_column_is_null_of_its_type() -> None:
    def execute(text: str, values: dict[str, Any]) -> pa.Table:
        if "LIMIT 0" in text:
            columns = [name for name in COLUMNS["silver.events"] if name != "is_server_event"]
            return pa.table({name: pa.array([], pa.string()) for name in columns})
        if "CAST" not in text:
            raise ValueError("UNRESOLVED_COLUMN: `is_server_event`")
        assert "CAST(NULL AS BOOLEAN) AS `is_server_event`" in text
        return pa.table({"is_server_event": pa.array([None], pa.bool_())})

    query = Query("silver.events", ("is_server_event",))
    assert SqlTables(execute).run(query, Version(3)).rows() == [(None,)]


def test_other_sql_error_is_not_treated_as_missing_column() -> None:
    def execute(text: str, values: dict[str, Any]) -> pa.Table:
        if "LIMIT 0" in text:
            return pa.table({"day": pa.array([], pa.date32()), "step": pa.array([], pa.string())})
        raise ValueError("the warehouse is asleep")

    with pytest.raises(ReadError):
        SqlTables(execute).run(Query("gold.funnel", ("day", "step")), Version(3))
