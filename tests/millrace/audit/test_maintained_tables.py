"""Maintenance and rebuilds of tables pass the audit of bytes, and their files get digests."""

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.recorded_home import table_of
from kit.records import NOON
from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.delta import compaction_plan
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.maintenance.maintenance_job import maintain
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from millrace.audit.digests.recorder import DigestRecorder
from millrace.audit.file_bytes import audit_bytes

TABLES = CONVERSIONS, DIGESTS = "gold.conversions", "ops.digests"


def findings(settings: Settings) -> tuple[list[str], list[str]]:
    """Failed findings, and files without a digest."""
    found = list(audit_bytes(settings))
    wrong = [f"{each.what} {each.detail}" for each in found if not each.is_right]
    return wrong, [each.detail for each in found if each.what == "without a digest yet"]


def files_of(settings: Settings, name: str) -> list[Path]:
    return [Path(uri.removeprefix("file://")) for uri in table_of(settings.home, name).file_uris()]


def alter_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_maintenance_and_rebuild_pass_audit_and_altered_bytes_fail(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction_plan, "MIN_FILES", 1)
    settings = empty_home(spark, tmp_path).model_copy(
        update={"vacuum_retention": timedelta(0), "feed_retention": timedelta(0)}
    )
    recorder = DigestRecorder(settings)
    for hour in range(2):
        row = {"conversion_id": f"{hour:02}", "converted_at": NOON + timedelta(hours=hour)}
        append_rows(tmp_path, CONVERSIONS, [row])
        recorder.record()
    maintain(JobContext("maintenance", spark.newSession(), settings, once=True))
    compacted = {name: (table_of(tmp_path, name).version(), files_of(settings, name)) for name in TABLES}
    assert {name: len(files) for name, (_, files) in compacted.items()} == {CONVERSIONS: 1, DIGESTS: 1}
    assert findings(settings)[0] == []
    recorder.record()
    assert findings(settings) == ([], [])
    for name, (version, (file,)) in compacted.items():
        alter_byte(file)
        assert findings(settings)[0] == [f"{name}, commit {version} altered: {file.name}"]
        alter_byte(file)
    lake = Lakehouse(spark.newSession(), settings, "rebuild")
    lake.overwrite(CONVERSIONS, checkpoint(lake.read(CONVERSIONS)))
    assert findings(settings)[0] == []
    DigestRecorder(settings).record()
    assert findings(settings) == ([], [])
