"""A small home with all kinds of files that have digests, created without Spark."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

from deltalake import DeltaTable

from kit.sample_warehouse import ledger_rows, sample_warehouse
from kit.warehouse_builder import append_rows, build_warehouse
from lakehouse.settings import Settings, load_settings
from millrace.audit.digests.recorder import DigestRecorder
from millrace.clients.manifest import new_manifest

UNTIL = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
CHECKPOINTED = ("silver.events", "gold.conversions", "ops.digests")


def recorded_home(home: Path) -> Settings:
    """A home with recorded digests: tables of all layers, several commits, some checkpoints, manifests."""
    settings = load_settings(home=home)
    recorder = DigestRecorder(settings)
    sample = sample_warehouse(UNTIL, hours=24, visits=60)
    build_warehouse(home, sample.tables)
    for batch in range(3):
        at = UNTIL + timedelta(minutes=batch)
        record = {"topic": "events", "partition": 0, "timestamp": at, "value": b"{}", "ingested_at": at}
        append_rows(home, "bronze.kafka_records", [{**record, "offset": batch}])
        append_rows(home, "ops.ledger", ledger_rows(at, sample.watermark, batch))
        send(home)
        recorder.record()
    for name in CHECKPOINTED:
        table_of(home, name).create_checkpoint()
    recorder.record()
    return settings


def send(home: Path) -> Path:
    """Write the manifest of a finished client."""
    manifest = new_manifest(home, "produce", "sample", "events")
    manifest.confirm(7, 0, 0)
    manifest.close(whole=True)
    return manifest.path


def table_of(home: Path, name: str) -> DeltaTable:
    """A table of a home."""
    return DeltaTable(home / "warehouse" / name.replace(".", "/"))
