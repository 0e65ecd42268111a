"""Columns that the pages read, with the types of the contracts; also the schema of tables not created yet."""

import polars as pl

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema

Type = pl.DataType | type[pl.DataType]

_READ = {
    "bronze.kafka_records": "topic partition offset timestamp value headers ingested_at",
    "silver.events": (
        "event_id type role user_id event_time time_source device_time unread_time url channel "
        "campaign_source campaign_medium campaign_name campaign_id is_server_event goal value unread_value "
        "arrival_time topic partition offset ingested_at"
    ),
    "silver.rejected_events": "reason topic value partition offset arrival_time",
    "silver.sessions": (
        "session_id visitor_id entry_url exit_url channel campaign_source campaign_medium campaign_name "
        "started_at ended_at events page_views is_open first_event_id continues"
    ),
    "silver.identities": "visitor_id user_id",
    "silver.bots": "visitor_id since",
    "silver.exchange_rates": "currency rate valid_from valid_to",
    "gold.touches": (
        "touch_id kind event_id url referrer channel promotion_id touched_at has_attribution_consent"
    ),
    "gold.conversions": (
        "conversion_id event_id visitor_id person_id goal order_id refund_id currency converted_at value "
        "value_sent reporting_value rate_valid_from touches is_final over_refunded visit traffic_channel "
        "has_analytics_consent has_attribution_consent is_credited"
    ),
    "gold.attribution": (
        "conversion_id model touch_id channel promotion_id campaign_source campaign_medium campaign_name "
        "campaign_term campaign_content campaign_id click_id_kind position touched_at converted_at credit "
        "is_counted credited_value credited_reporting_value"
    ),
    "gold.trails": "conversion_id kind event_id url referrer promotion_id matched_on step converted_at at",
    "gold.channel_credit": "period_start period_end model channel model_version conversions reporting_value",
    "gold.campaign_performance": (
        "day model campaign_source campaign_medium campaign_name impressions clicks visits conversions "
        "credited_reporting_value cost"
    ),
    "gold.search_performance": "day query searches clicked_searches",
    "gold.result_performance": "day query rank shown clicked",
    "gold.promotion_performance": "day promotion_id impressions clicks clicking_visitors converting_visitors",
    "gold.funnel": "day step visitors",
    "gold.dimension_performance": (
        "day dimension value channel model visits conversions credited_reporting_value"
    ),
    "gold.funnel_by_dimension": "day dimension value step visitors",
    "gold.order_comparisons": (
        "order_id day ordered_at difference is_older events value currency shop_value shop_currency status"
    ),
    "gold.visitor_timeline": (
        "bucket visitor_id entry_id at kind role name url user_id order_id value currency valid_to"
    ),
    "gold.persons": (
        "cohort_week channel campaign_name returns_7 returns_30 returns_90 value_7 value_30 value_90"
    ),
    "gold.traffic": (
        "window_kind channel pane window_start window_end events page_views visitors sessions impressions "
        "clicks searches conversions reporting_value revision is_complete late_events"
    ),
    "ops.ledger": (
        "job batch_id input_rows output_rows duplicates rejected heartbeats erased late seconds "
        "started_at watermark position"
    ),
    "ops.expectations": (
        "run_id table name expectation column severity success observed unexpected_count rows run_at"
    ),
    "ops.gates": "sequence state reasons at",
}


def _types(name: str, columns: str) -> dict[str, Type]:
    """Of some columns of a table: their types."""
    frame = pl.from_arrow(arrow_schema(TABLES[name]).empty_table())
    assert isinstance(frame, pl.DataFrame)
    return {column: frame.schema[column] for column in columns.split()}


def _corrections() -> dict[str, Type]:
    """A window's key, the commit, and the row after and before it."""
    time = _types("gold.traffic", "window_start")["window_start"]
    changing = _types("gold.traffic", " ".join(CHANGING))
    return {
        "commit_version": pl.Int64(),
        "commit_timestamp": time,
        **_types("gold.traffic", "window_kind window_start channel"),
        **changing,
        **{f"{name}_before": kind for name, kind in changing.items()},
    }


CORRECTIONS = "gold.traffic corrections"
"""Changes of complete windows, from the change feed of gold.traffic; of tables in a folder only."""

CHANGING = ("pane", "events", "page_views", "visitors", "sessions", "conversions", "reporting_value")
"""Columns of gold.traffic whose changes are corrections."""

COLUMNS: dict[str, dict[str, Type]] = {
    **{name: _types(name, columns) for name, columns in _READ.items()},
    CORRECTIONS: _corrections(),
}
