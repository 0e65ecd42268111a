"""A home with the tables that the oracle expects of some records, written without a JVM."""

from collections.abc import Sequence
from pathlib import Path

from kit.oracle import Oracle
from kit.pipeline import expected_rows
from kit.records import Stored
from kit.shop_warehouse import typed
from kit.warehouse_builder import append_rows
from lakehouse.settings import Settings, load_settings

_OTHER_TYPES = ("gold.sketches",)


def oracle_home(home: Path, stored: Sequence[Stored]) -> Settings:
    """Write bronze, silver and gold of these records, but for sketches."""
    stamps = {(each.record.topic, each.record.partition, each.offset): each.ingested_at for each in stored}
    records = [
        {
            "topic": each.record.topic,
            "partition": each.record.partition,
            "offset": each.offset,
            "timestamp": each.record.timestamp,
            "key": each.record.key,
            "value": each.record.value,
            "headers": [{"key": key, "value": value} for key, value in each.record.headers],
            "ingested_at": each.ingested_at,
        }
        for each in stored
    ]
    append_rows(home, "bronze.kafka_records", records)
    for table, rows in expected_rows(Oracle.over(stored)).items():
        if table not in _OTHER_TYPES:
            found = [typed(table, row) for row in rows()]
            for row in found:
                place = tuple(row.get(name) for name in ("topic", "partition", "offset"))
                row["ingested_at"] = stamps.get(place)
            append_rows(home, table, found)
    return load_settings(home=home)
