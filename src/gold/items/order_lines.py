"""The products that orders list, read in Spark's Python workers."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from folds.records.product_lists import lines

_SCHEMA = pa.schema(
    [("event_id", pa.string()), ("line", pa.int32()), ("product_id", pa.string()), ("quantity", pa.string())]
)


def order_lines(events: DataFrame) -> DataFrame:
    """The products of events, lazily.

    Args:
        events: `event_id` and `properties` of silver.events.

    Returns:
        Rows of `event_id`, `line` from 1, `product_id` and `quantity` as text.
    """
    schema = "event_id string, line int, product_id string, quantity string"
    return events.select("event_id", "properties").where("properties IS NOT NULL").mapInArrow(_read, schema)


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        events, properties = (batch.column(name).to_pylist() for name in ("event_id", "properties"))
        rows = [
            {"event_id": event, "line": number, **line._asdict()}
            for event, text in zip(events, properties, strict=True)
            for number, line in enumerate(lines(text), 1)
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)
