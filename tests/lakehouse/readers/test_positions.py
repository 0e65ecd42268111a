"""`millrace sql --as-of`: all tables are read as of one position, against the commits up to it."""

import json
import os
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from kit.records import NOON
from kit.warehouse_builder import append_rows
from lakehouse.errors import MillraceError
from lakehouse.readers.open_tables import open_tables
from lakehouse.readers.positions import find_position, versions_as_of
from lakehouse.settings import load_settings
from lakehouse.timestamps import rfc3339, to_micros
from millrace.cli import app, register_commands

BATCHES = 12
TABLES = ("silver.events", "gold.conversions", "gold.traffic")


def stamp(batch: int) -> Any:
    return NOON + timedelta(seconds=batch)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Batches of a row each; gold.traffic is written once for several, with a row for each of these."""
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    chance, due = Random(3), []
    for name in TABLES:
        append_rows(tmp_path, name, [])
    for batch in range(BATCHES):
        upto, name = to_micros(stamp(batch)), f"{batch:02}"
        record = {"topic": "events", "partition": 0, "offset": batch, "ingested_at": stamp(batch)}
        append_rows(tmp_path, "bronze.kafka_records", [record])
        append_rows(tmp_path, "ops.ledger", [{"job": "ingest", "position": stamp(batch)}])
        append_rows(tmp_path, "silver.events", [{"event_id": name}], upto)
        append_rows(tmp_path, "gold.conversions", [{"conversion_id": name}], upto)
        due.append({"window_kind": name})
        if chance.random() < 0.4 or batch == 0:
            append_rows(tmp_path, "gold.traffic", due, upto)
            due = []
    return tmp_path


def count(*arguments: str) -> dict[str, int]:
    if not app.registered_commands:
        register_commands()
    named = {"records": "bronze.kafka_records", "ledger": "ops.ledger"} | {
        name.partition(".")[2]: name for name in TABLES
    }
    parts = ", ".join(f"(SELECT count(*) FROM {table}) AS {name}" for name, table in named.items())
    answer = CliRunner().invoke(app, ["sql", f"SELECT {parts}", "--json", *arguments])
    if answer.exception is not None:
        raise answer.exception
    found: dict[str, int] = json.loads(answer.stdout)
    return found


def test_tables_agree_as_of_every_position(home: Path) -> None:
    assert len(set(count().values())) == 2  # the latest rows do not agree
    seen = set()
    for batch in range(BATCHES):
        counts = count("--as-of", rfc3339(stamp(batch), "microseconds"))
        (rows,) = set(counts.values())
        assert 1 <= rows <= batch + 1
        assert counts == count("--as-of", str(to_micros(stamp(rows - 1))))
        seen.add(rows)
    assert len(seen) > 3
    assert count("--as-of", "latest") == counts


def test_commit_beyond_the_position_hides_later_ones_of_another_job(home: Path) -> None:
    settings, before = load_settings(home=home), to_micros(stamp(BATCHES - 1))
    known = versions_as_of(open_tables(settings), before)["silver.events"]
    append_rows(home, "silver.events", [{"event_id": "next"}], before + 2)
    append_rows(home, "silver.events", [{"event_id": "late"}], before)
    assert versions_as_of(open_tables(settings), before)["silver.events"] == known
    assert versions_as_of(open_tables(settings), before + 2)["silver.events"] == (known or 0) + 2


def test_versions_as_of_a_position_are_the_same_after_the_clock_was_set_back(home: Path) -> None:
    tables = open_tables(load_settings(home=home))
    positions = [to_micros(stamp(batch)) for batch in range(BATCHES)]
    expected = [versions_as_of(tables, position) for position in positions]
    an_hour_ago = (NOON - timedelta(hours=1)).timestamp()
    for file in (home / "warehouse").glob("*/*/_delta_log/*.json"):
        os.utime(file, (an_hour_ago, an_hour_ago))  # ingest stamps go on from those of before
    assert len({each["silver.events"] for each in expected}) == BATCHES
    assert [versions_as_of(tables, position) for position in positions] == expected


@pytest.mark.parametrize("position", ["yesterday", "1970-01-01T00:00:00Z", "9" * 5000])
def test_position_that_is_none_is_an_error(home: Path, position: str) -> None:
    with pytest.raises(MillraceError, match="position"):
        find_position(open_tables(load_settings(home=home)), position)


def test_version_that_vacuum_removed_is_an_error(home: Path) -> None:
    for file in (home / "warehouse/silver/events/_delta_log").glob("*[01].json"):
        file.unlink()
    with pytest.raises(MillraceError, match="as of 2026-03-01T12:00:04Z any more"):
        versions_as_of(open_tables(load_settings(home=home)), to_micros(stamp(4)))
