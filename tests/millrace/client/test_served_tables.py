"""Tables of a real server, mirrored while they change."""

import datetime as dt
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kit.api_process import ApiProcess, api_process
from kit.polling import eventually
from kit.user_database import UserDatabase
from kit.warehouse_builder import append_rows, replace_rows
from millrace.client import Consumer, Stream, TableMirror

START = dt.datetime(2026, 11, 2, tzinfo=dt.timezone.utc)
COLUMNS = ("channel", "events", "reporting_value")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    home = tmp_path_factory.mktemp("served") / "home"
    home.mkdir()
    replace_rows(home, "gold.traffic", [])
    with api_process(home) as node:
        yield node


def _row(hour: int, channel: str | None, events: int, value: str | None) -> dict[str, Any]:
    return {
        "window_kind": "1 hour",
        "window_start": START + dt.timedelta(hours=hour),
        "window_end": START + dt.timedelta(hours=hour + 1),
        "channel": channel,
        "events": events,
        "reporting_value": None if value is None else Decimal(value),
    }


@contextmanager
def _mirrored(
    database: UserDatabase, home: Path, stream: Stream, mirror: TableMirror | None = None
) -> Iterator[None]:
    consumer = Consumer(database.store, "mirrored", stream)
    arguments = (mirror or TableMirror("mirrored"),)
    thread = threading.Thread(target=consumer.run, args=arguments, daemon=True)
    thread.start()
    yield
    consumer.stop()
    if stream.table == "gold.funnel":  # another message, so that the consumer does not wait for a heartbeat
        append_rows(home, "gold.funnel", [{"day": START.date(), "step": "last", "visitors": 1}])
    else:
        append_rows(home, "gold.traffic", [_row(23, "Email", 1, None)])
    thread.join(30)
    assert not thread.is_alive()


def _eventually_equals(database: UserDatabase, names: str, expected: list[tuple[Any, ...]]) -> None:
    eventually(
        lambda: Counter(database.run(f"SELECT {names} FROM mirrored")) == Counter(expected),
        30,
        f"{expected}",
    )


STATES = [
    [_row(0, "Email", 3, "10.5000"), _row(0, None, 4, None), _row(1, "Direct", 1, None)],
    [_row(0, "Email", 5, "99999999999999.9999"), _row(0, None, 4, "0.0001"), _row(2, None, 1, None)],
    [],
    [_row(5, None, 1, None)],
]


def test_mirror_follows_table_with_null_keys_and_decimals(node: ApiProcess, database: UserDatabase) -> None:
    names = ("window_kind", "window_start", *COLUMNS)
    replace_rows(node.home, "gold.traffic", STATES[0])
    database.run(f"CREATE TABLE mirrored ({', '.join(f'{name} TEXT' for name in names)})")
    stream = Stream(node.url, table="gold.traffic")
    with _mirrored(database, node.home, stream, TableMirror("mirrored", names)):
        for state in [*STATES, STATES[0]]:
            replace_rows(node.home, "gold.traffic", state)
            expected = [
                (row["channel"], str(row["events"]), None if value is None else str(value))
                for row in state
                for value in [row["reporting_value"]]
            ]
            _eventually_equals(database, ", ".join(COLUMNS), expected)


def test_mirror_follows_filtered_table(node: ApiProcess, database: UserDatabase) -> None:
    database.run("CREATE TABLE mirrored (window_kind TEXT, window_start TEXT, channel TEXT, events BIGINT)")
    replace_rows(node.home, "gold.traffic", STATES[0])
    stream = Stream(node.url, table="gold.traffic", where={"channel": ["Email"]}, select=["events"])
    with _mirrored(database, node.home, stream):
        for events in (3, 5):
            state = [_row(0, "Email", events, None), _row(0, "Direct", 1, None)]
            replace_rows(node.home, "gold.traffic", state)
            _eventually_equals(database, "channel, events", [("Email", events)])
        replace_rows(node.home, "gold.traffic", [])
        _eventually_equals(database, "channel, events", [])


def test_mirror_follows_query(node: ApiProcess, database: UserDatabase) -> None:
    database.run("CREATE TABLE mirrored (channel TEXT, events BIGINT)")
    replace_rows(node.home, "gold.traffic", STATES[0])
    query = "SELECT channel, sum(events) AS events FROM gold.traffic GROUP BY channel"
    with _mirrored(database, node.home, Stream(node.url, sql=query)):
        for state in [*STATES, STATES[0]]:
            replace_rows(node.home, "gold.traffic", state)
            sums: Counter[str | None] = Counter()
            for row in state:
                sums[row["channel"]] += row["events"]
            _eventually_equals(database, "channel, events", [*sums.items()])


def test_mirror_follows_recreated_table(database: UserDatabase, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    database.run("CREATE TABLE mirrored (day TEXT, step TEXT, visitors BIGINT)")

    def row(step: str) -> dict[str, Any]:
        return {"day": START.date(), "step": step, "visitors": 1}

    append_rows(home, "gold.funnel", [row("old")])
    append_rows(home, "gold.funnel", [row("older")])
    with api_process(home) as node, _mirrored(database, home, Stream(node.url, table="gold.funnel")):
        _eventually_equals(database, "step", [("old",), ("older",)])
        shutil.rmtree(home / "warehouse" / "gold" / "funnel")
        append_rows(home, "gold.funnel", [row("new")])
        _eventually_equals(database, "step", [("new",)])
        append_rows(home, "gold.funnel", [row("newer")])
        _eventually_equals(database, "step", [("new",), ("newer",)])
