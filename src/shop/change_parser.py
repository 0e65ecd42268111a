"""Parses bronze records of the topic of shop changes, in Spark's Python workers."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.shop.change_record import ShopChange, parse_change
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.shop import REJECTED_CHANGES, SHOP_CHANGES
from lakehouse.rows.arrow_frames import transpose

CHANGE, TOMBSTONE, REJECTED, ERASED = "change", "tombstone", "rejected", "erased"
CLASSES = (CHANGE, TOMBSTONE, REJECTED, ERASED)
"""Classes of records."""

_PLACE = ("topic", "partition", "offset", "ingested_at")
_FIELDS = [arrow_schema(SHOP_CHANGES).field(name) for name in ShopChange._fields]
_TYPES = {column.name: column.type for column in SHOP_CHANGES.columns}
_SCHEMA = ", ".join(
    [
        *(f"`{name}` {_TYPES[name]}" for name in (*_PLACE, *ShopChange._fields)),
        "reason string",
        "record_class string",
        "value binary",
        "record_key binary",
    ]
)


def parse_records(records: DataFrame) -> DataFrame:
    """Parse records of the topic of shop changes, lazily.

    Args:
        records: bronze.kafka_records of this topic.

    Returns:
        Columns of silver.shop_changes, null unless it is a change; `record_class`, one of `CLASSES`; `reason`
        and `value` of a rejected record; `record_key` of a tombstone.
    """
    parsed = records.select(*_PLACE, "key", "value").mapInArrow(_parse, _SCHEMA)
    key_hash = F.xxhash64("source", "source_table", "row_key")
    return parsed.withColumn("row_hash", F.when(F.col("row_key").isNotNull(), key_hash))


def changes_of(parsed: DataFrame) -> DataFrame:
    """Rows of silver.shop_changes."""
    return parsed.where(F.col("record_class") == CHANGE).select(*SHOP_CHANGES.column_names)


def rejected_of(parsed: DataFrame) -> DataFrame:
    """Rows of silver.rejected_changes."""
    return parsed.where(F.col("record_class") == REJECTED).select(*REJECTED_CHANGES.column_names)


def _parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    nothing = (None,) * len(_FIELDS)
    for batch in batches:
        values, keys = batch.column("value").to_pylist(), batch.column("key").to_pylist()
        outcomes = [parse_change(value, key) for value, key in zip(values, keys, strict=True)]
        rows = [tuple(each) if isinstance(each, ShopChange) else nothing for each in outcomes]
        tombs = [key if outcome is None else None for key, outcome in zip(keys, outcomes, strict=True)]
        reasons = [each if isinstance(each, str) else None for each in outcomes]
        raw = [value if reason else None for value, reason in zip(values, reasons, strict=True)]
        yield pa.RecordBatch.from_arrays(
            [
                *(batch.column(name) for name in _PLACE),
                *transpose(rows, _FIELDS),
                pa.array(reasons, pa.string()),
                pa.array([_class_of(each) for each in outcomes], pa.string()),
                pa.array(raw, pa.binary()),
                pa.array(tombs, pa.binary()),
            ],
            names=[*_PLACE, *ShopChange._fields, "reason", "record_class", "value", "record_key"],
        )


def _class_of(outcome: ShopChange | str | None) -> str:
    if outcome is None:
        return TOMBSTONE
    return CHANGE if isinstance(outcome, ShopChange) else REJECTED
