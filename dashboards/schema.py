"""Names and types of the columns that the application reads; also the schema of tables not created yet.

The folder is deployed without the packages in src, so it has its own copy. A test compares the copy with
the published contracts.
"""

import polars as pl

Type = pl.DataType | type[pl.DataType]

_TEXT = pl.String
_TIME = pl.Datetime("us", "UTC")
_MONEY = pl.Decimal(18, 4)
_COUNT = pl.Int64
_VISIT = pl.Struct(
    {"session_id": _TEXT, "event_id": _TEXT, "at": _TIME, "url": _TEXT, "referrer": _TEXT, "channel": _TEXT}
)
_CAMPAIGN = "campaign_source campaign_medium campaign_name"
_MORE_OF_CAMPAIGN = "campaign_term campaign_content campaign_id click_id_kind"
_COUNTS = "events page_views visitors sessions impressions clicks searches conversions"


def _all(type_: Type, names: str) -> dict[str, Type]:
    return dict.fromkeys(names.split(), type_)


_WINDOWS = {
    **_all(_TEXT, "window_kind channel pane"),
    **_all(_TIME, "window_start window_end"),
    **_all(_COUNT, _COUNTS),
    **_all(_MONEY, "reporting_value"),
    **_all(pl.Int32, "revision"),
    **_all(pl.Boolean, "is_complete"),
}

COLUMNS: dict[str, dict[str, Type]] = {
    "bronze.kafka_records": _all(_TIME, "ingested_at"),
    "silver.events": {**_all(_TEXT, "event_id"), **_all(_TIME, "event_time")},
    "silver.rejected_events": {
        **_all(_TEXT, "reason topic"),
        **_all(pl.Binary, "value"),
        **_all(pl.Int32, "partition"),
        **_all(_COUNT, "offset"),
        **_all(_TIME, "arrival_time"),
    },
    "silver.duplicate_events": _all(_TEXT, "event_id"),
    "silver.sessions": {
        **_all(_TEXT, f"session_id visitor_id entry_url exit_url channel {_CAMPAIGN}"),
        **_all(_TIME, "started_at ended_at"),
        **_all(_COUNT, "events page_views"),
        **_all(pl.Boolean, "is_open"),
    },
    "silver.impressions": _all(_TEXT, "event_id"),
    "silver.searches": _all(_TEXT, "event_id"),
    "silver.identities": _all(_TEXT, "visitor_id"),
    "silver.bots": _all(_TEXT, "visitor_id"),
    "silver.exchange_rates": {
        **_all(_TEXT, "currency"),
        **_all(pl.Decimal(19, 10), "rate"),
        **_all(_TIME, "valid_from valid_to"),
    },
    "gold.touches": {
        **_all(_TEXT, "touch_id kind url referrer channel promotion_id"),
        **_all(_TIME, "touched_at"),
    },
    "gold.conversions": {
        **_all(_TEXT, "conversion_id event_id visitor_id person_id goal order_id refund_id currency"),
        **_all(_TIME, "converted_at"),
        **_all(_MONEY, "value reporting_value"),
        **_all(_COUNT, "touches"),
        **_all(pl.Boolean, "is_final over_refunded"),
        "visit": _VISIT,
    },
    "gold.attribution": {
        **_all(_TEXT, f"conversion_id model touch_id channel promotion_id {_CAMPAIGN} {_MORE_OF_CAMPAIGN}"),
        **_all(pl.Int32, "position"),
        **_all(_TIME, "touched_at converted_at"),
        **_all(pl.Float64, "credit"),
        **_all(pl.Boolean, "is_counted"),
        **_all(_MONEY, "credited_value credited_reporting_value"),
    },
    "gold.trails": {
        **_all(_TEXT, "conversion_id kind event_id url referrer promotion_id matched_on"),
        **_all(pl.Int32, "step"),
        **_all(_TIME, "converted_at at"),
    },
    "gold.channel_credit": {
        **_all(_TIME, "period_start period_end"),
        **_all(_TEXT, "model channel model_version"),
        **_all(pl.Float64, "conversions"),
        **_all(_MONEY, "reporting_value"),
    },
    "gold.campaign_performance": {
        **_all(pl.Date, "day"),
        **_all(_TEXT, f"model {_CAMPAIGN}"),
        **_all(_COUNT, "impressions clicks visits"),
        **_all(pl.Float64, "conversions"),
        **_all(_MONEY, "credited_reporting_value"),
    },
    "gold.search_performance": {
        **_all(pl.Date, "day"),
        **_all(_TEXT, "query"),
        **_all(_COUNT, "searches clicked_searches"),
    },
    "gold.result_performance": {
        **_all(pl.Date, "day"),
        **_all(_TEXT, "query"),
        **_all(pl.Int32, "rank"),
        **_all(_COUNT, "shown clicked"),
    },
    "gold.promotion_performance": {
        **_all(pl.Date, "day"),
        **_all(_TEXT, "promotion_id"),
        **_all(_COUNT, "impressions clicks clicking_visitors converting_visitors"),
    },
    "gold.funnel": {**_all(pl.Date, "day"), **_all(_TEXT, "step"), **_all(_COUNT, "visitors")},
    "gold.traffic": _WINDOWS,
    "gold.traffic_changes": {**_WINDOWS, **_all(_TEXT, "change"), **_all(_COUNT, "sequence")},
    "gold.visitor_minutes": _all(_TEXT, "visitor_id"),
    "ops.ledger": {
        **_all(_TEXT, "job"),
        **_all(_COUNT, "batch_id input_rows output_rows duplicates rejected heartbeats erased late"),
        **_all(pl.Float64, "seconds"),
        **_all(_TIME, "started_at watermark position"),
    },
    "ops.expectations": {
        **_all(_TEXT, "run_id table name expectation column severity"),
        **_all(pl.Boolean, "success"),
        **_all(pl.Float64, "observed"),
        **_all(_COUNT, "unexpected_count rows"),
        **_all(_TIME, "run_at"),
    },
    "ops.gates": {
        **_all(_COUNT, "sequence"),
        **_all(_TEXT, "state"),
        "reasons": pl.List(_TEXT),
        **_all(_TIME, "at"),
    },
}
