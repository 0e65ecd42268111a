"""The columns this page reads, with their types: what a table looks like before it exists.

The folder stands alone when it is deployed, so these are restated here; a test holds them against the
published contracts.
"""

import polars as pl

_TIME = pl.Datetime("us", "UTC")
_MONEY = pl.Decimal(18, 4)
_COUNT = pl.Int64

COLUMNS: dict[str, dict[str, pl.DataType | type[pl.DataType]]] = {
    "bronze.kafka_records": {"ingested_at": _TIME},
    "silver.events": {"event_id": pl.String, "event_time": _TIME},
    "silver.sessions": {
        "session_id": pl.String,
        "visitor_id": pl.String,
        "started_at": _TIME,
        "ended_at": _TIME,
        "events": _COUNT,
        "page_views": _COUNT,
        "entry_url": pl.String,
        "campaign_name": pl.String,
        "channel": pl.String,
        "is_open": pl.Boolean,
    },
    "gold.traffic": {
        "window_kind": pl.String,
        "window_start": _TIME,
        "window_end": _TIME,
        "channel": pl.String,
        "events": _COUNT,
        "conversions": _COUNT,
        "reporting_value": _MONEY,
        "is_complete": pl.Boolean,
    },
    "gold.conversions": {
        "conversion_id": pl.String,
        "person_id": pl.String,
        "goal": pl.String,
        "order_id": pl.String,
        "converted_at": _TIME,
        "value": _MONEY,
        "currency": pl.String,
        "reporting_value": _MONEY,
        "touches": _COUNT,
        "is_final": pl.Boolean,
    },
    "gold.attribution": {
        "model": pl.String,
        "converted_at": _TIME,
        "channel": pl.String,
        "campaign_name": pl.String,
        "credit": pl.Float64,
        "credited_reporting_value": _MONEY,
    },
    "ops.ledger": {
        "job": pl.String,
        "started_at": _TIME,
        "seconds": pl.Float64,
        "watermark": _TIME,
        "position": _TIME,
    },
}
