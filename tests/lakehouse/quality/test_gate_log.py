"""ops.gates: written events, and their cache in an application that is the only writer of a home."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import (
    CLOSED,
    OPENED,
    RELEASED,
    REPLAYED,
    GateEvent,
    GateLog,
    require_open,
)
from lakehouse.rows.arrow_times import in_micros
from lakehouse.run.ledger_cache import exclusive_ledger
from lakehouse.settings import Settings, load_settings

AFTER = datetime(2026, 3, 1, tzinfo=timezone.utc)
CLOSING = GateEvent(CLOSED, "r", AFTER, AFTER + timedelta(seconds=5), ("a: x", "b: y"), at=AFTER)


@dataclass
class _Table:
    """ops.gates in memory, as `Lakehouse` finds and appends its rows."""

    settings: Settings
    rows: list[dict[str, Any]] = field(default_factory=list)
    reads: int = 0
    fails: bool = False

    def find(self, name: str, wanted: Any) -> pa.Table:
        self.reads += 1
        return in_micros(pa.Table.from_pylist(self.rows, arrow_schema(TABLES[name])))

    def append(self, name: str, rows: pa.Table) -> None:
        if self.fails:
            raise OSError("no space left")
        self.rows += rows.to_pylist()


@pytest.fixture
def table(tmp_path: Path) -> Any:
    return _Table(load_settings(home=tmp_path))


def test_written_events_are_read_back(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lakehouse(spark.newSession(), empty_home(spark, tmp_path), "publish")
    gates = GateLog(lake)
    assert gates.last() is None
    require_open(lake)
    closed = gates.write(CLOSING)
    assert gates.last() == closed == CLOSING
    with pytest.raises(MillraceError, match="is closed: a: x; b: y"):
        require_open(lake)
    released = gates.write(replace(CLOSING, state=RELEASED, who="Ada", why="looked at it"))
    assert (gates.last(), released.sequence) == (released, 1)
    assert gates.released() == {"r"}


def test_only_writer_reads_the_table_once(table: Any) -> None:
    with exclusive_ledger(table.settings):
        publish, command = GateLog(table), GateLog(table)
        assert publish.last() is None
        publish.write(CLOSING)
        command.write(replace(CLOSING, state=RELEASED))
        assert publish.last() == replace(CLOSING, state=RELEASED, sequence=1)
        assert publish.released() == {"r"}
        assert table.reads == 1
    with exclusive_ledger(table.settings):
        assert GateLog(table).last() == replace(CLOSING, state=RELEASED, sequence=1)
        assert table.reads == 2


def test_events_of_other_applications_are_seen(table: Any) -> None:
    publish, command = GateLog(table), GateLog(table)
    publish.write(CLOSING)
    command.write(replace(CLOSING, state=RELEASED))
    assert publish.last() == replace(CLOSING, state=RELEASED, sequence=1)


def test_event_is_not_cached_if_its_commit_fails(table: Any) -> None:
    with exclusive_ledger(table.settings):
        gates = GateLog(table)
        gates.write(CLOSING)
        table.fails = True
        with pytest.raises(OSError, match="no space"):
            gates.write(replace(CLOSING, state=RELEASED))
        assert gates.last() == CLOSING


def test_rebuild_is_pending_between_replay_and_its_end(table: Any) -> None:
    gates = GateLog(table)
    for state, is_pending in (
        (CLOSED, False),
        (REPLAYED, True),
        (CLOSED, True),
        (REPLAYED, True),
        (OPENED, False),
    ):
        gates.write(replace(CLOSING, state=state))
        assert gates.rebuild_pending() is is_pending
