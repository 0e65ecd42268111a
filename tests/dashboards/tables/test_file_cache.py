"""The file cache stays within its size limit and does not change query results."""

import random
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from deltalake import DeltaTable
from polars.testing import assert_frame_equal
from schema import COLUMNS
from tables import delta_log as reading_log
from tables import file_cache as reading_files
from tables.delta_backend import LocalTables
from tables.delta_log import Log
from tables.file_cache import Files, Memory
from tables.polars_query import ask_frame
from tables.query import Measure, Query, sums

from kit.warehouse_builder import append_rows

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
MINUTES = Query("gold.traffic", ("channel",), sums("events"), order=("channel",))
MINUTES = MINUTES.only("window_kind", "=", "1 minute")


def windows(start: datetime, count: int, kind: str = "1 minute") -> list[dict[str, Any]]:
    return [
        {
            "window_kind": kind,
            "window_start": start + number * timedelta(minutes=1),
            "window_end": start + (number + 1) * timedelta(minutes=1),
            "channel": channel,
            "events": number + 1,
        }
        for number in range(count)
        for channel in (None, "Email")
    ]


def assert_equal_plain_scan(home: Path, tables: LocalTables, *queries: Query) -> None:
    """Query results equal those of a plain scan of all files."""
    for query in queries:
        version = tables.version(query.table)
        assert version is not None
        plain = pl.scan_delta(str(home / "warehouse" / query.table.replace(".", "/")))
        assert_frame_equal(tables.run(query, version), ask_frame(plain, query).collect())


@pytest.fixture(params=["cached", "scanned"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose files are all small enough to cache, or all too large to cache."""
    monkeypatch.setattr(reading_files, "_SMALL", 2**20 if request.param == "cached" else 0)
    return tmp_path


def test_results_equal_plain_scan_after_appends_compaction_and_delete(home: Path) -> None:
    tables, path = LocalTables(home / "warehouse"), home / "warehouse/gold/traffic"
    for day in range(12):
        start = NOON + day * timedelta(days=1)
        append_rows(home, "gold.traffic", windows(start, 5) + windows(start, 1, "1 day"))
        since = MINUTES.only("window_start", ">=", start - timedelta(hours=30))
        until = MINUTES.only("window_start", "<", start + timedelta(minutes=2))
        between = MINUTES.within("window_start", start - timedelta(minutes=1), start + timedelta(minutes=3))
        assert_equal_plain_scan(home, tables, MINUTES, since, until, between, between.only("channel", "null"))
    DeltaTable(path).optimize.compact()
    assert_equal_plain_scan(home, tables, MINUTES)
    DeltaTable(path).delete("channel = 'Email'")
    assert_equal_plain_scan(home, tables, MINUTES)


def test_table_without_files_has_no_rows(home: Path) -> None:
    append_rows(home, "gold.traffic", [])
    DeltaTable(home / "warehouse/gold/traffic").delete()
    assert DeltaTable(home / "warehouse/gold/traffic").file_uris() == []
    assert_equal_plain_scan(
        home, LocalTables(home / "warehouse"), MINUTES, Query("gold.traffic", (), sums("events"))
    )


def test_partition_and_nested_columns_are_read(home: Path) -> None:
    visit = {"session_id": "s", "event_id": "e", "at": NOON, "url": "u", "referrer": None, "channel": "Email"}
    append_rows(home, "gold.conversions", [{"conversion_id": "a", "visit": visit}, {"conversion_id": "b"}])
    sessions = [{"session_id": str(number), "is_open": number % 2 == 0} for number in range(4)]
    append_rows(home, "silver.sessions", sessions)
    assert_equal_plain_scan(
        home,
        LocalTables(home / "warehouse"),
        Query("gold.conversions", ("conversion_id", "visit"), order=("conversion_id",)),
        Query("silver.sessions", ("session_id", "is_open"), order=("session_id",)),
        Query("silver.sessions", (), (Measure("n", "count"),)).only("is_open", "=", True),
    )


def test_files_with_and_without_added_column_are_read_together(home: Path) -> None:
    path = home / "warehouse/silver/bots"
    path.parent.mkdir(parents=True)
    older = pl.DataFrame({"visitor_id": ["old"]})
    older.write_delta(str(path))
    newer = pl.DataFrame({"visitor_id": ["new"], "reason": ["quick"]})
    newer.write_delta(str(path), mode="append", delta_write_options={"schema_mode": "merge"})
    query = Query("silver.bots", ("visitor_id", "reason"), order=("visitor_id",))
    with patch.dict(COLUMNS, {"silver.bots": {"visitor_id": pl.String, "reason": pl.String}}):
        tables = LocalTables(home / "warehouse")
        version = tables.version("silver.bots")
        assert version is not None
        assert tables.run(query, version).rows() == [("new", "quick"), ("old", None)]


def test_column_missing_from_table_is_null_with_and_without_deletion_vectors(tmp_path: Path) -> None:
    path = tmp_path / "warehouse/silver/bots"
    path.parent.mkdir(parents=True)
    with patch.dict(COLUMNS, {"silver.bots": {"visitor_id": pl.String, "reason": pl.String}}):
        pl.DataFrame({"visitor_id": ["old"]}).write_delta(str(path))
        asked = Query("silver.bots", ("visitor_id", "reason"))
        for plain in (True, False):
            if not plain:
                table = DeltaTable(path)
                table.alter.set_table_properties({"delta.enableDeletionVectors": "true"})
            tables = LocalTables(tmp_path / "warehouse")
            version = tables.version("silver.bots")
            assert version is not None
            assert tables._at("silver.bots", version)[0].plain == plain
            assert tables.run(asked, version).rows() == [("old", None)]


def test_table_with_deletion_vectors_is_read_by_polars(tmp_path: Path) -> None:
    append_rows(tmp_path, "silver.bots", [{"visitor_id": "a"}])
    table = DeltaTable(tmp_path / "warehouse/silver/bots")
    table.alter.set_table_properties({"delta.enableDeletionVectors": "true"})
    assert DeltaTable(tmp_path / "warehouse/silver/bots").protocol().min_reader_version > 1
    tables = LocalTables(tmp_path / "warehouse")
    version = tables.version("silver.bots")
    assert version is not None
    assert not tables._at("silver.bots", version)[0].plain
    assert_equal_plain_scan(tmp_path, tables, Query("silver.bots", ("visitor_id",)))


def test_large_files_and_rejected_records_are_not_cached() -> None:
    sizes = {f"{number}.parquet": 2**18 for number in range(40)} | {"big.parquet": 2**18 + 1}
    files = Files.of("gold.touches", sizes)
    assert len(files.small) == 24  # 6 MB of them
    assert set(files.large) == sizes.keys() - files.small
    assert not Files.of("silver.rejected_events", {"small.parquet": 1}).small


def test_cached_slices_are_limited_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_files, "_SMALL", 0)
    monkeypatch.setattr(reading_files, "_MOST_KEPT", 60_000)
    append_rows(tmp_path, "gold.traffic", windows(NOON, 300))
    tables = LocalTables(tmp_path / "warehouse")
    for channel in ("a", "b", "c", "Email"):
        assert_equal_plain_scan(tmp_path, tables, MINUTES.only("channel", "!=", channel))
    memory: Memory = tables._memory
    kept = sum(rows.estimated_size() for rows in memory._kept.values())
    assert 0 < kept <= 60_000
    assert len(memory._kept) < 4


def test_projection_and_predicate_are_pushed_down_to_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_files, "_SMALL", 0)
    append_rows(tmp_path, "gold.attribution", [{"conversion_id": "c", "model": "linear", "credit": 1.0}])
    tables = LocalTables(tmp_path / "warehouse")
    version = tables.version("gold.attribution")
    assert version is not None
    query = Query("gold.attribution", ("model",), sums("credit")).only("model", "=", "linear")
    files, _ = tables._at("gold.attribution", version)
    reported = ask_frame(tables._memory.rows(files, query), query).explain()
    assert "PROJECT 2/" in reported
    assert "SELECTION" in reported


def test_aggregates_of_large_files_are_computed_once_per_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query reads each file once; after an append it reads the new file only."""
    monkeypatch.setattr(reading_files, "_SMALL", 0)
    chance, pages = random.Random(5), ["/a", "/b", "/c", None]
    tables, asked = LocalTables(tmp_path / "warehouse"), list[int]()
    collect_all = pl.collect_all
    monkeypatch.setattr(pl, "collect_all", lambda frames: asked.append(len(frames)) or collect_all(frames))
    measures = (
        Measure("sessions", "count"),
        Measure("views", "sum", "page_views"),
        Measure("least", "min", "page_views"),
        Measure("latest", "max", "started_at"),
    )
    by_page = Query("silver.sessions", ("entry_url",), measures, order=("-sessions", "entry_url"), limit=3)
    in_all = Query("silver.sessions", (), measures)
    for number in range(5):
        rows = [
            {
                "started_at": NOON + chance.randrange(10**6) * timedelta(seconds=1),
                "entry_url": chance.choice(pages),
                "page_views": chance.choice([1, 2, 7, None]),
                "is_open": False,
            }
            for _ in range(20)
        ]
        append_rows(tmp_path, "silver.sessions", rows)
        asked.clear()
        assert_equal_plain_scan(tmp_path, tables, by_page, in_all, in_all.only("started_at", "<", NOON))
        assert asked == [1, 1, 1], number
    DeltaTable(tmp_path / "warehouse/silver/sessions").optimize.compact()
    assert_equal_plain_scan(tmp_path, tables, by_page, in_all, in_all.only("started_at", "<", NOON))


def test_table_is_opened_once_and_followed_by_its_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits of files are read one by one; other changes, and many commits at once, reopen the table."""
    opened: list[Path] = []
    init = Log.__init__

    def record_open(log: Log, folder: Path, **more: int | None) -> None:
        opened.append(folder)
        init(log, folder, **more)

    monkeypatch.setattr(Log, "__init__", record_open)
    tables, path = LocalTables(tmp_path / "warehouse"), tmp_path / "warehouse/gold/traffic"

    def times_opened() -> int:
        opened.clear()
        assert_equal_plain_scan(tmp_path, tables, MINUTES)
        version = tables.version("gold.traffic")
        assert version is not None
        plain = DeltaTable(path)
        assert version.number == plain.version()
        facts = tables.facts("gold.traffic", version)
        adds = pl.DataFrame(plain.get_add_actions())
        assert (facts.files, facts.rows, facts.size) == (
            adds.height,
            adds["num_records"].sum(),
            adds["size_bytes"].sum(),
        )
        return len(opened)

    append_rows(tmp_path, "gold.traffic", windows(NOON, 5))
    assert times_opened() == 1
    append_rows(tmp_path, "gold.traffic", windows(NOON + timedelta(hours=1), 5))
    append_rows(tmp_path, "gold.traffic", windows(NOON + timedelta(hours=2), 5))
    assert times_opened() == 0
    DeltaTable(path).delete("channel = 'Email'")
    DeltaTable(path).optimize.compact()
    assert times_opened() == 0
    DeltaTable(path).create_checkpoint()
    append_rows(tmp_path, "gold.traffic", windows(NOON, 1))
    assert times_opened() == 0
    DeltaTable(path).alter.set_table_properties({"delta.appendOnly": "false"})
    append_rows(tmp_path, "gold.traffic", windows(NOON, 2))
    assert times_opened() == 1
    monkeypatch.setattr(reading_log, "_FAR", 3)
    for commits, opens in ((2, 0), (3, 1)):
        for number in range(commits):
            append_rows(tmp_path, "gold.traffic", windows(NOON, number + 1))
        assert times_opened() == opens
    shutil.rmtree(path)
    append_rows(tmp_path, "gold.traffic", windows(NOON, 3))
    assert times_opened() == 1
