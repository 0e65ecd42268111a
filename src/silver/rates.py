"""Exchange rates: what a unit of a currency is worth, from when until when."""

from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.contracts.silver import EXCHANGE_RATES
from lakehouse.frames import settle
from lakehouse.tables import Lakehouse
from silver.clock import parse_instant
from silver.money import parse_number
from silver.steps import Steps
from silver.wire import decode_object

RATE = "decimal(19,10)"
_FIELDS = "currency: string, rate: string, valid_from: string"
_CODE = r"^[A-Za-z]{3}\z"
_PLACE = ("ingested_at", "topic", "partition", "offset")


def parse_rates() -> Steps:
    """Read records of the topic of exchange rates.

    Returns:
        From the columns of bronze.kafka_records, `value` being `raw`, to `arrival_time`; `currency`, `rate`
        and `valid_from`; `reason`, why it can't be used. Either that or the rate is null.
    """
    code, rate = F.col("message.currency"), parse_number(F.col("message.rate"), RATE)
    read = {
        "currency": F.when(code.rlike(_CODE), F.upper(code)),
        "rate": F.when(rate > 0, rate),
        "valid_from": F.timestamp_micros(parse_instant(F.col("message.valid_from"))),
        "arrival_time": F.col("timestamp"),
    }
    whole = F.col("currency").isNotNull() & F.col("rate").isNotNull() & F.col("valid_from").isNotNull()
    reason = (
        F.when(F.col("raw").isNull() | (F.octet_length("raw") == 0), "empty")
        .when(F.col("message").isNull(), "not_json")
        .when(~whole, "bad_rate")
    )
    return [
        *decode_object(_FIELDS),
        read,
        {"reason": reason},
        {"rate": F.when(F.col("reason").isNull(), F.col("rate"))},
    ]


def merge_rates(known: DataFrame, accepted: DataFrame) -> DataFrame:
    """Give each rate the time it is valid for.

    Of two with one currency and start the later in bronze counts. A rate is valid until the currency's next.

    Args:
        known: silver.exchange_rates, every row of the currencies concerned at least.
        accepted: records as `parse_rates` reads them, none that `known` has counted.

    Returns:
        silver.exchange_rates.
    """
    new = accepted.withColumn("records", F.lit(1).cast("bigint"))
    columns = ("currency", "valid_from", "records", "rate", *_PLACE)
    both = known.select(*columns).unionByName(new.select(*columns))
    last = F.max(F.struct(*_PLACE, "rate"))
    merged = both.groupBy("currency", "valid_from").agg(last.alias("last"), F.sum("records").alias("records"))
    following = F.lead("valid_from").over(Window.partitionBy("currency").orderBy("valid_from"))
    rates = merged.select("currency", "valid_from", "records", "last.*", following.alias("valid_to"))
    return rates.select(*EXCHANGE_RATES.column_names)


def keep_rates(lake: Lakehouse, accepted: DataFrame, upto: datetime) -> None:
    """Bring accepted records into silver.exchange_rates.

    Args:
        lake: the tables.
        accepted: records as `parse_rates` reads them, none that the table has counted.
        upto: ingest stamp that the table's input is done up to with this.
    """
    new = settle(accepted)
    if new.isEmpty():
        return
    theirs = F.broadcast(new.select("currency").distinct())
    known = settle(lake.read(EXCHANGE_RATES.name).join(theirs, "currency", "left_semi"))
    changed = settle(merge_rates(known, new).subtract(known.select(*EXCHANGE_RATES.column_names)))
    lake.swap(EXCHANGE_RATES.name, None, changed, upto, F.lit(True))
