"""Queries of readers that name an erased person are deleted from ops.reads, and from its log."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

from deltalake import DeltaTable

from kit.erased_worlds import files_with
from kit.warehouse_builder import append_rows
from lakehouse.contracts.ops import READS
from lakehouse.delta.python_writer import create_table
from lakehouse.delta.table_properties import properties_of
from privacy.erasure.folder_reads import delete_folder_reads

START = datetime(2026, 11, 28, 12, 0, 0, 1, tzinfo=timezone.utc)
QUERIES = (
    "SELECT * FROM silver.events WHERE user_id = 'o''neil-4711'",
    "SELECT count(*) FROM silver.events",
    "SELECT 1 WHERE user_id = 'o''neil-47110'",
    None,
    "user_id eq u%2D4711",
)


def test_reads_that_name_a_person_are_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "warehouse" / "ops" / "reads"
    delete_folder_reads(folder, ["u-4711"])  # there is no table yet
    create_table(folder, READS, properties_of(READS))
    rows = [
        {"read_at": START + timedelta(microseconds=number), "subject": query}
        for number, query in enumerate(QUERIES)
    ]
    append_rows(tmp_path, "ops.reads", rows)
    delete_folder_reads(folder, ["neil-4711", "u-4711"])
    delete_folder_reads(folder, [])
    left = DeltaTable(folder).to_pyarrow_table(columns=["subject"])["subject"].to_pylist()
    assert left == [QUERIES[1], QUERIES[2], None]
    DeltaTable(folder).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert files_with(tmp_path, ["'o''neil-4711'", "u%2D4711"]) == {}
