"""`millrace visitors`: merged sketches of a period, by dimension."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from folds.sketches.value_sketch import sketch_values
from folds.sketches.visitor_sketch import sketch_visitors
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.daily import SKETCHES
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands

ROWS = [
    (date(2026, 10, 31), "Email", "letter", ["ann", "ben"], [10.0]),
    (date(2026, 11, 1), "Email", "letter", ["ben", "cid"], [30.0, 20.0]),
    (date(2026, 11, 1), "Direct", None, ["ann", "dan", "eve", "fay"], []),
]


def row(
    day: date, channel: str, source: str | None, visitors: list[str], values: list[float]
) -> dict[str, Any]:
    return {
        "day": day,
        "channel": channel,
        "campaign_source": source,
        "sessions": len(visitors),
        "visitors": sketch_visitors(visitors),
        "orders": len(values),
        "order_values": sketch_values(values),
    }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def sketches_table(home: Path) -> None:
    data = pa.Table.from_pylist([row(*each) for each in ROWS], arrow_schema(SKETCHES))
    write_deltalake(home / "warehouse" / "gold" / "sketches", data)


def run_visitors(*arguments: str) -> list[dict[str, Any]]:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ["visitors", "--json", *arguments])
    if answer.exception and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    return [json.loads(line) for line in answer.stdout.splitlines()]


def columns_of(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(each[name] for name in names) for each in rows]


@pytest.mark.usefixtures("sketches_table")
def test_visitor_on_two_days_is_counted_once() -> None:
    rows = run_visitors("--by", "channel")
    assert columns_of(rows, "channel", "sessions", "visitors", "orders", "median") == [
        ("Direct", 4, 4, 0, None),
        ("Email", 4, 3, 3, 20.0),
    ]
    assert all(each["at_least"] <= each["visitors"] <= each["at_most"] for each in rows)


@pytest.mark.usefixtures("sketches_table")
def test_dimensions_combine_and_dates_limit_the_period() -> None:
    assert columns_of(run_visitors("--by", "month, source"), "month", "source", "visitors") == [
        ("2026-10", "letter", 2),
        ("2026-11", None, 4),
        ("2026-11", "letter", 2),
    ]
    assert columns_of(run_visitors("--by", "", "--from", "2026-11-01"), "visitors", "sessions") == [(6, 6)]
    assert columns_of(run_visitors("--by", "channel", "--to", "2026-10-31"), "channel", "visitors") == [
        ("Email", 2)
    ]
    assert run_visitors("--from", "2027-01-01") == []


@pytest.mark.usefixtures("home")
def test_unknown_dimension_or_missing_table_is_rejected() -> None:
    with pytest.raises(MillraceError, match=r"there is no dimension chanel\. Choose of day, month, channel"):
        run_visitors("--by", "chanel")
    with pytest.raises(MillraceError, match=r"gold\.sketches is not there yet"):
        run_visitors()
