"""Records through the real parser, without tables."""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kit.records import SENT, Record, Stored, in_bronze
from lakehouse.settings import load_settings
from silver.parse import load_rules
from silver.reading import Reader
from silver.rules.channels import load_channel_rules

_CONF = load_settings().conf
CHANNELS = load_channel_rules(_CONF)
TIMES = ("event_time", "arrival_time", "device_time")
FIELDS = (
    *("event_id", "type", "name", "role", "visitor_id", "user_id", "url", "referrer", "user_agent"),
    *("campaign_source", "campaign_medium", "campaign_name", "promotion_id", "query", "product_id", "goal"),
    *("order_id", "value", "currency", "properties", "channel", *TIMES),
)


def parse(spark: SparkSession, records: list[Record], count: int = 1) -> list[dict[str, Any]]:
    """One row a record, in order, read as if there were so many; times in microseconds."""
    stored = [Stored(each, number, SENT) for number, each in enumerate(records)]
    candidates = Reader(load_rules(_CONF), "exchange_rates").read(in_bronze(spark, stored), count)
    times = [F.unix_micros(name).alias(name) for name in (*TIMES, "heartbeat_at")]
    columns = [name for name in FIELDS if name not in TIMES]
    rows = candidates.select("offset", "reason", "raw", *columns, *times).collect()
    return [row.asDict() for row in sorted(rows, key=lambda row: row.offset)]
