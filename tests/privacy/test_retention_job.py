"""The job retention: which spans of conf/retention.yml it applies, and what it does with old records."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from kit.pipeline import read_rows, run_jobs
from kit.records import Bronze, message, record
from kit.spark import catalog_in, empty_home, forget_tables
from kit.warehouse_builder import append_rows
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings, load_settings
from lakehouse.timestamps import to_micros
from millrace.audit.comparisons import audit_tables
from millrace.operations import bodies, retention_job
from millrace.operations.rebuild import definitions
from millrace.tables.table_scan import reading, scan
from privacy.erasure.work_folder import WorkFolder
from privacy.requests.register import Register
from silver.old_records import remove_old_content

NOW = datetime.now(timezone.utc)
Apply = Callable[..., list[str]]


@pytest.fixture
def apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apply:
    """Runs the job with a text of conf/retention.yml; returns what it did, in order."""
    did: list[str] = []

    def erase_job(number: str) -> Any:
        return SimpleNamespace(body=lambda run: did.append(f"erase {number}"))

    def remove(run: JobContext, before: datetime) -> int:
        did.append(f"records before {(NOW - before) / timedelta(days=1):.0f} days")
        return 0

    monkeypatch.setattr(Settings, "conf", tmp_path)
    monkeypatch.setattr(retention_job, "erase_job", erase_job)
    monkeypatch.setattr(retention_job, "remove_old_content", remove)

    def run(text: str, **more: Any) -> list[str]:
        (tmp_path / "retention.yml").write_text(text)
        settings = load_settings(home=tmp_path, **more)
        context = SimpleNamespace(settings=settings, log=lambda line: None)
        bodies.retention(cast("JobContext", context))
        return did

    return run


def add_visitor(home: Path, visitor: str, days: int) -> None:
    row = {"event_id": visitor, "visitor_id": visitor, "event_time": NOW - timedelta(days=days)}
    append_rows(home, "silver.events", [row])
    append_rows(home, "silver.identities", [])


def test_without_spans_nothing_is_done(apply: Apply, tmp_path: Path) -> None:
    add_visitor(tmp_path, "old", 1000)
    assert apply("persons: null\nrecords: null\n") == []
    assert apply("") == []


def test_expired_persons_are_erased_once_an_interrupted_erasure_has_ended(
    apply: Apply, tmp_path: Path
) -> None:
    add_visitor(tmp_path, "old", 31)
    apply("persons: P30D\n")  # the erasure does not end here
    (request,) = Register(tmp_path).requests()
    assert request.reference == "retention"
    [_, again, as_well] = apply("persons: P30D\n")
    assert again == as_well == f"erase {request.id}"
    WorkFolder(tmp_path, request.id).remove()
    assert apply("persons: P30D\n")[3:] == [f"erase {NOW:%Y}-0002"]


def test_records_have_a_span_of_their_own(apply: Apply, tmp_path: Path) -> None:
    add_visitor(tmp_path, "old", 1000)
    assert apply("records: P90D\n") == ["records before 90 days"]


@pytest.fixture(params=["folder", pytest.param("catalog", marks=pytest.mark.long)])
def settings(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Settings]:
    home = empty_home(spark, tmp_path)
    yield home if request.param == "folder" else catalog_in(spark, home)
    forget_tables(spark)


def test_content_of_old_records_is_removed_and_events_stay(spark: SparkSession, settings: Settings) -> None:
    bronze = Bronze(spark, settings)
    bronze.commit([record(message("e1", "ann")), record(b"bad"), record(message("e1", "ann"))])
    bronze.commit([record(message("e2", "ann"))])
    run_jobs(spark, settings, "refine")
    bronze.commit([record(message("e3", "ann"))])
    stamps = [each.ingested_at for each in bronze.stored]
    run = JobContext("retention", spark.newSession(), settings, once=True)
    assert remove_old_content(run, stamps[3]) == 3
    assert remove_old_content(run, stamps[3]) == 0
    rows = read_rows(settings, "bronze.kafka_records", ("ingested_at", "key", "value"))
    for row in rows:
        has_content = row["key"] is not None or row["value"] is not None
        assert has_content == (row["ingested_at"] >= to_micros(stamps[3]))
    assert [row["value"] for row in read_rows(settings, "silver.rejected_events", ("value",))] == [None]
    run_jobs(spark, settings, "refine")
    events = read_rows(settings, "silver.events", ("event_id",))
    assert sorted(row["event_id"] for row in events) == ["e1", "e2", "e3"]
    with reading(settings):
        found = scan(settings, "bronze.kafka_records")
        assert found is not None
        assert [each for each in audit_tables(settings, found) if not each.is_right] == []
    job = rebuild_job(definitions(), ["silver.events"])
    with pytest.raises(MillraceError, match="no content of records through"):
        job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert remove_old_content(run, stamps[-1] + timedelta(days=1)) == 2
