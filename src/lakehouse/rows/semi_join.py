"""Selects rows of a table's history by keys of a micro-batch: the keys are broadcast, the history is not.

Summaries of many micro-batches shuffle both, see `lakehouse.run.batch_settings.MOST_BROADCAST_KEYS`.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def semi_join(history: DataFrame, keys: DataFrame, *columns: str) -> DataFrame:
    """Rows whose values of some columns occur in `keys`, which has columns of the same names."""
    return history.join(F.broadcast(_renewed(keys, columns)), list(columns), "left_semi")


def within_spans(rows: DataFrame, spans: DataFrame, key: str, time: str) -> DataFrame:
    """Rows whose time is in a span of the same key.

    Args:
        rows: the rows.
        spans: `key`, and `low`, included, and `high`, excluded, in microseconds.
        key: a column of both.
        time: a timestamp column of the rows.
    """
    spans = F.broadcast(spans.select(F.col(key).alias("_key"), "low", "high"))
    at = F.unix_micros(time)
    is_inside = (rows[key] == spans["_key"]) & (at >= spans["low"]) & (at < spans["high"])
    return rows.join(spans, is_inside, "left_semi")


def without(rows: DataFrame, keys: DataFrame, *columns: str) -> DataFrame:
    """Rows whose values of some columns do not occur in `keys`."""
    return rows.join(F.broadcast(_renewed(keys, columns)), list(columns), "left_anti")


def _renewed(keys: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """The columns of keys as new attributes: Spark refuses a join of a table with a checkpoint of its own."""
    return keys.select(*(F.col(name).alias(name) for name in columns))
