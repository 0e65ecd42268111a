"""The audit of windows, over tables in a folder and in a catalog."""

from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kit import delta_writer
from kit.catalog_server import CATALOG, CatalogServer
from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.settings import load_settings
from millrace.audit.windows import wrong_windows
from millrace.tables.table_scan import reading_through

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SUMS = dict.fromkeys(
    ("page_views", "sessions", "impressions", "clicks", "searches", "conversions", "value"), 0
)


def append(home: Path, name: str, rows: list[dict[str, Any]], **metadata: int) -> None:
    table = TABLES[name]
    delta_writer.create_table(home / "warehouse", table)
    written = pa.Table.from_pylist([{**SUMS, **row} for row in rows], arrow_schema(table))
    delta_writer.append(home / "warehouse", table, written, {"job": "publish", "upto": 1, **metadata})


def window(channel: str | None, events: int, visitors: int) -> dict[str, Any]:
    hour = {"window_kind": "1 hour", "window_start": NOON, "window_end": NOON.replace(hour=13)}
    return {**hour, "channel": channel, "events": events, "visitors": visitors}


@pytest.mark.parametrize("place", ["folder", pytest.param("catalog", marks=pytest.mark.long)])
def test_windows_are_compared_with_the_sums_of_their_minutes(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    minutes = [("ann", 1, 2), ("ben", 2, 3)]
    shared = {"channel": "Email", "sequence": 1}
    rows = [
        {**shared, "visitor_id": name, "minute": NOON.replace(minute=at), "events": events}
        for name, at, events in minutes
    ]
    append(tmp_path, "gold.visitor_minutes", rows, sequence=1)
    append(tmp_path, "gold.traffic", [window("Email", 5, 2), window(None, 5, 2)], minutes=1)
    settings = load_settings(home=tmp_path, catalog=CATALOG if place == "catalog" else None)
    with ExitStack() as stack:
        if place == "catalog":
            server: CatalogServer = request.getfixturevalue("catalog")
            server.register(tmp_path)
            stack.enter_context(reading_through(server.session()))
        assert wrong_windows(settings) == set()
        append(tmp_path, "gold.traffic", [window("Direct", 1, 1)], minutes=1)
        assert {(kind, channel) for kind, _, channel in wrong_windows(settings)} == {("1 hour", "Direct")}
