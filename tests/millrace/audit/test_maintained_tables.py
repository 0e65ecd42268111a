"""Maintenance and rebuilds of tables pass the audit of bytes, and their files get digests."""

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.frames import frame_of
from kit.recorded_home import table_of
from kit.records import NOON
from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.maintenance import python_table, spark_table
from lakehouse.maintenance.maintenance_job import maintain
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from millrace.audit.digests.files import added_files
from millrace.audit.digests.recorder import DigestRecorder
from millrace.audit.file_bytes import audit_bytes

pytestmark = pytest.mark.long

TABLES = CONVERSIONS, DIGESTS = "gold.conversions", "ops.digests"


def findings(settings: Settings) -> tuple[list[str], list[str]]:
    """Failed findings, and files without a digest."""
    found = list(audit_bytes(settings))
    wrong = [f"{each.what} {each.detail}" for each in found if not each.is_right]
    return wrong, [each.detail for each in found if each.what == "without a digest yet"]


def files_of(settings: Settings, name: str) -> list[Path]:
    return [Path(uri.removeprefix("file://")) for uri in table_of(settings.home, name).file_uris()]


def commit_of(file: Path) -> int:
    """Version of the commit that added a data file."""
    (commit,) = (
        each for each in (file.parent / "_delta_log").glob("*.json") if file.name in added_files(each)
    )
    return int(commit.stem)


def alter_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_maintenance_and_rebuild_pass_audit_and_altered_bytes_fail(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (python_table, spark_table):
        monkeypatch.setattr(module, "MIN_FILES", 1)
    settings = empty_home(spark, tmp_path).model_copy(
        update={"vacuum_retention": timedelta(0), "feed_retention": timedelta(0)}
    )
    recorder = DigestRecorder(settings)
    for hour in range(2):
        row = {"conversion_id": f"{hour:02}", "converted_at": NOON + timedelta(hours=hour)}
        append_rows(tmp_path, CONVERSIONS, [row])
        recorder.record()
    maintain(JobContext("maintenance", spark.newSession(), settings, once=True))
    compacted = {name: files_of(settings, name) for name in TABLES}
    assert {name: len(files) for name, files in compacted.items()} == {CONVERSIONS: 1, DIGESTS: 1}
    assert findings(settings)[0] == []
    recorder.record()
    assert findings(settings) == ([], [])
    for name, (file,) in compacted.items():
        alter_byte(file)
        assert findings(settings)[0] == [f"{name}, commit {commit_of(file)} altered: {file.name}"]
        alter_byte(file)
    lake = Lakehouse(spark.newSession(), settings, "rebuild")
    lake.overwrite(CONVERSIONS, checkpoint(lake.read(CONVERSIONS)))
    assert findings(settings)[0] == []
    DigestRecorder(settings).record()
    assert findings(settings) == ([], [])


def test_deletion_vectors_have_digests_and_data_files_are_not_read_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    lake, recorder = Lakehouse(spark.newSession(), settings, "test"), DigestRecorder(settings)
    lake.append(CONVERSIONS, frame_of(lake.spark, CONVERSIONS, [{"conversion_id": name} for name in "abc"]))
    lake.spark.sql(f"ALTER TABLE {CONVERSIONS} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    recorder.record()
    (data,) = files_of(settings, CONVERSIONS)
    known = digests(tmp_path)
    for name in "ab":
        lake.spark.sql(f"DELETE FROM {CONVERSIONS} WHERE conversion_id = '{name}'")
    vectors = sorted(data.parent.rglob("deletion_vector_*.bin"), key=lambda file: file.stat().st_mtime_ns)
    assert len(vectors) == 2
    assert findings(settings)[0] == []
    recorder.record()
    assert findings(settings) == ([], [])
    new = sorted(path for path in digests(tmp_path)[len(known) :] if not path.startswith("_delta_log/"))
    assert new == sorted(str(vector.relative_to(data.parent)) for vector in vectors)
    version = table_of(tmp_path, CONVERSIONS).version()
    for commit, vector in enumerate(vectors, version - 1):
        alter_byte(vector)
        path = vector.relative_to(data.parent)
        assert findings(settings)[0] == [f"{CONVERSIONS}, commit {commit} altered: {path}"]
        alter_byte(vector)


def digests(home: Path) -> list[str]:
    """Paths of ops.digests, in order of recording."""
    rows = table_of(home, DIGESTS).to_pyarrow_table().sort_by("recorded_at").to_pylist()
    return [row["path"] for row in rows]
