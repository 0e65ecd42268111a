"""Commands that read the tables of a catalog through a SQL warehouse."""

import json
from contextlib import closing
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from folds.sketches.value_sketch import sketch_values
from folds.sketches.visitor_sketch import sketch_visitors
from intake.log.place import DEFAULT_NODE, log_file
from intake.log.schema import create_log, open_log
from kit.catalog_server import CatalogServer
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.contracts.ops import READS
from lakehouse.errors import MillraceError
from lakehouse.timestamps import to_micros
from millrace.cli import app, register_commands

FUNNEL = "gold.funnel"
COSTS, ORDERS = "silver.campaign_costs", "gold.order_comparisons"
RECORDS, EVENTS, LEDGER = "bronze.kafka_records", "silver.events", "ops.ledger"
TABLES = (FUNNEL, "gold.sketches", COSTS, ORDERS, RECORDS, EVENTS, LEDGER)
AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
POSITION = 1_795_000_000_000_000


@pytest.fixture(scope="module")
def home(catalog: CatalogServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    for name in TABLES:
        replace_rows(home, name, [])
    catalog.register(home)
    catalog.run("CREATE DATABASE IF NOT EXISTS ops")
    catalog.run(f"CREATE TABLE ops.reads ({READS.ddl}) USING delta")
    append_rows(home, FUNNEL, [{"step": "visit", "visitors": 2}], upto=POSITION)
    append_rows(home, FUNNEL, [{"step": "order", "visitors": 1}], upto=POSITION + 9)
    sketches = [
        {"channel": "Email", "sessions": 2, "visitors": sketch_visitors(["ann", "ben"]), "orders": 0},
        {"channel": "Email", "sessions": 2, "visitors": sketch_visitors(["ben", "cid"]), "orders": 0},
    ]
    append_rows(home, "gold.sketches", [{**row, "order_values": sketch_values([])} for row in sketches])
    spent = {"campaign_name": "brand", "day": date(2026, 3, 1), "platform": "ads", "currency": "EUR"}
    append_rows(home, COSTS, [{**spent, "cost": Decimal(7), "reporting_cost": Decimal(7)}])
    compared = {"order_id": "o1", "difference": "other value", "events": 1, "is_older": False}
    append_rows(home, ORDERS, [compared])
    return home


@pytest.fixture(autouse=True)
def _environment(home: Path, catalog: CatalogServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**catalog.env, "MILLRACE_HOME": str(home), "MILLRACE_RECORD_READS": "true"}.items():
        monkeypatch.setenv(name, value)


def lines_of(*arguments: str) -> list[dict[str, Any]]:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, (*arguments, "--json"))
    if answer.exception and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    return [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]


def test_queries_are_translated_and_run_in_the_warehouse(catalog: CatalogServer) -> None:
    count = "sum(visitors) FILTER (WHERE visitors > 0)::INT"
    query = f"SELECT upper(step) AS step, {count} AS n FROM {FUNNEL} GROUP BY ALL"
    assert sorted(lines_of("sql", query), key=repr) == [{"step": "ORDER", "n": 1}, {"step": "VISIT", "n": 2}]
    there = {row["table"] for row in lines_of("sql", "SHOW TABLES") if row["is_there"]}
    assert there == {*TABLES, "ops.reads"}
    assert "visitors" in {row["column_name"] for row in lines_of("sql", f"DESCRIBE {FUNNEL}")}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (f"SELECT no FROM {FUNNEL}", "UNRESOLVED_COLUMN"),
        ("SELECT * FROM gold.trails", "there is no table gold.trails yet"),
        ("SELECT FROM WHERE", "can't be parsed"),
        (f"DELETE FROM {FUNNEL}", "the query gives no rows"),
    ],
)
def test_wrong_query_is_an_error_of_one_line(query: str, message: str) -> None:
    with pytest.raises(MillraceError, match=message) as error:
        lines_of("sql", query)
    assert "\n" not in str(error.value)


def test_query_as_of_a_position_reads_the_version_that_is_done_up_to_it() -> None:
    steps = [
        row["step"] for row in lines_of("sql", f"SELECT step FROM {FUNNEL}", "--as-of", str(POSITION + 5))
    ]
    assert steps == ["visit"]


def test_visitors_merges_sketches_of_the_catalog() -> None:
    (row,) = lines_of("visitors", "--by", "channel")
    assert (row["channel"], row["sessions"], row["visitors"]) == ("Email", 4, 3)


def test_reads_are_recorded_in_the_catalog_and_found_once_rows_are_corrected(home: Path) -> None:
    query = f"SELECT sum(visitors) AS all_of_them FROM {FUNNEL}"
    lines_of("sql", query)
    (row,) = [each for each in lines_of("reads", "--table", FUNNEL) if each["subject"] == query]
    assert (row["way"], row["role"], row["rows"]) == ("sql", "admin", 1)
    replace_rows(home, FUNNEL, [{"step": "visit", "visitors": 3}, {"step": "order", "visitors": 1}])
    (row,) = [each for each in lines_of("reads", "--corrected", FUNNEL) if each["subject"] == query]
    assert row["corrected_rows"] == 1


def test_costs_and_orders_are_read_from_the_catalog() -> None:
    (cost,) = lines_of("costs")
    assert (cost["campaign_name"], cost["days"], cost["nearest_name"]) == ("brand", 1, None)
    (order,) = lines_of("orders")
    assert (order["order_id"], order["difference"]) == ("o1", "other value")


def test_query_waits_until_publish_has_processed_the_events_of_a_receipt(home: Path) -> None:
    file, place = log_file(home, DEFAULT_NODE), {"topic": "events", "partition": 1, "offset": 7}
    create_log(file)
    with closing(open_log(file)) as log:
        log.execute("INSERT INTO delivered VALUES ('r', 'shop', 1, 7, ?, ?)", (to_micros(AT), to_micros(AT)))
    append_rows(home, RECORDS, [{**place, "timestamp": AT, "ingested_at": AT}])
    append_rows(home, EVENTS, [{**place, "event_id": "e1", "event_time": AT, "ingested_at": AT}])
    query = ("sql", f"SELECT event_id FROM {EVENTS}", "--after", "r", "--timeout", "0")
    with pytest.raises(MillraceError, match="the events are not in gold: event"):
        lines_of(*query)
    append_rows(home, LEDGER, [{"job": "publish", "position": AT}])
    assert lines_of(*query) == [{"event_id": "e1"}]
