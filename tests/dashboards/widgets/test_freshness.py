from datetime import datetime, timedelta, timezone

import polars as pl
import pytest
from tables.polars_query import ask_frame
from tables.query import Query
from tables.table_cache import Ask
from widgets.formatting import ago
from widgets.freshness import CATCHING_UP, IDLE, LIVE, NO_DATA, STALE, Progress, progress, state

from kit.sample_warehouse import ledger_rows
from kit.warehouse_builder import schema_of

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)


def ledger(*rows: list[dict[str, object]]) -> Ask:
    schema = schema_of("ops.ledger")
    frame = pl.LazyFrame([{name: r.get(name) for name in schema} for group in rows for r in group], schema)

    def ask(query: Query) -> pl.DataFrame:
        return ask_frame(frame, query).collect()

    return ask


def test_empty_ledger_has_no_progress() -> None:
    assert progress(ledger()) == Progress()


def test_progress_has_watermark_last_batch_and_lag_of_ledger() -> None:
    rows = ledger(
        ledger_rows(NOW - 60 * SECOND, NOW - 700 * SECOND, 0),
        ledger_rows(NOW, NOW - 600 * SECOND, 1, position=NOW - 5 * SECOND),
    )
    assert progress(rows) == Progress(NOW - 600 * SECOND, NOW, 5 * SECOND)


def test_stalled_job_counts_towards_lag() -> None:
    ingest_only = [row for row in ledger_rows(NOW, None, 1) if row["job"] == "ingest"]
    rows = ledger(ledger_rows(NOW - 3600 * SECOND, NOW - 9000 * SECOND), ingest_only)
    assert progress(rows) == Progress(NOW - 9000 * SECOND, NOW, 3600 * SECOND)


def test_lag_is_maximal_before_first_publish() -> None:
    first = [row for row in ledger_rows(NOW, NOW) if row["job"] != "publish"]
    assert progress(ledger(first)).behind == timedelta.max


@pytest.mark.parametrize(
    ("last_batch", "behind", "events", "expected"),
    [
        (3 * SECOND, 2 * SECOND, 1, LIVE),
        (3 * SECOND, None, 1, LIVE),
        (3 * SECOND, 61 * SECOND, 1, CATCHING_UP),
        (3 * SECOND, timedelta.max, 1, CATCHING_UP),
        (121 * SECOND, 2 * SECOND, 1, IDLE),
        (121 * SECOND, 61 * SECOND, 1, STALE),
        (None, None, 1, STALE),
        (3 * SECOND, 2 * SECOND, 0, NO_DATA),
        (None, None, 0, NO_DATA),
    ],
)
def test_state_depends_on_last_batch_lag_and_event_count(
    last_batch: timedelta | None, behind: timedelta | None, events: int, expected: str
) -> None:
    at = None if last_batch is None else NOW - last_batch
    assert state(Progress(NOW, at, behind), events, NOW) == expected


@pytest.mark.parametrize(("is_running", "expected"), [(None, IDLE), (True, IDLE), (False, STALE)])
def test_missing_recent_batch_is_stale_only_if_jobs_are_stopped(
    is_running: bool | None, expected: str
) -> None:
    assert state(Progress(NOW, NOW - 121 * SECOND, SECOND), 1, NOW, is_running) == expected
    assert state(Progress(NOW, NOW - 3 * SECOND, SECOND), 1, NOW, is_running) == LIVE
    assert state(Progress(NOW, NOW - 121 * SECOND, 61 * SECOND), 1, NOW, is_running) == STALE


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s ago"), (59, "59 s ago"), (60, "1 min ago"), (7199, "1 h ago"), (200_000, "2 d ago")],
)
def test_elapsed_time_is_shown_in_largest_unit(seconds: int, words: str) -> None:
    assert ago(NOW - seconds * SECOND, NOW) == words
