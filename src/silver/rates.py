"""Exchange rates: what a unit of a currency is worth, from when until when."""

from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.arrow_frames import to_frame
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.silver import EXCHANGE_RATES
from lakehouse.contracts.table import GONE
from lakehouse.frames import settle
from lakehouse.merging import Scope
from lakehouse.rows import Rows
from lakehouse.tables import Lakehouse
from silver.copies import PLACE


def merge_rates(known: DataFrame, accepted: DataFrame) -> DataFrame:
    """Give each rate the time it is valid for.

    Of two with one currency and start the later in bronze counts. A rate is valid until the currency's next.

    Args:
        known: silver.exchange_rates, every row of the currencies concerned at least.
        accepted: records as `silver.record_parser` gives them, none that `known` has counted.

    Returns:
        silver.exchange_rates.
    """
    new = accepted.withColumn("records", F.lit(1).cast("bigint"))
    columns = ("currency", "valid_from", "records", "rate", *PLACE)
    both = known.select(*columns).unionByName(new.select(*columns))
    last = F.max(F.struct(*PLACE, "rate"))
    merged = both.groupBy("currency", "valid_from").agg(last.alias("last"), F.sum("records").alias("records"))
    following = F.lead("valid_from").over(Window.partitionBy("currency").orderBy("valid_from"))
    rates = merged.select("currency", "valid_from", "records", "last.*", following.alias("valid_to"))
    return rates.select(*EXCHANGE_RATES.column_names)


def keep_rates(lake: Lakehouse, accepted: Rows, upto: datetime) -> None:
    """Bring accepted records into silver.exchange_rates.

    Args:
        lake: the tables.
        accepted: records as `silver.record_parser` gives them, none that the table has counted.
        upto: ingest stamp that the table's input is done up to with this.
    """
    new = _in_spark(lake, accepted)
    if new.isEmpty():
        return
    theirs = F.broadcast(new.select("currency").distinct())
    known = settle(lake.read(EXCHANGE_RATES.name).join(theirs, "currency", "left_semi"))
    changed = merge_rates(known, new).subtract(known.select(*EXCHANGE_RATES.column_names))
    lake.apply(EXCHANGE_RATES.name, settle(changed.withColumn(GONE, F.lit(False))), upto, Scope())


def _in_spark(lake: Lakehouse, accepted: Rows) -> DataFrame:
    """The records as a frame: there are few rates, and what they come to is left to Spark."""
    if isinstance(accepted, DataFrame):
        return settle(accepted)
    schema = arrow_schema(EXCHANGE_RATES)
    fields = [schema.field(name) for name in ("currency", "valid_from", "rate", *PLACE)]
    rows = accepted.select([field.name for field in fields]).cast(pa.schema(fields))
    return to_frame(lake.spark, rows)
