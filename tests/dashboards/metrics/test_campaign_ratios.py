"""Ratios of campaigns, computed over handmade frames."""

from datetime import date, datetime, timezone
from decimal import Decimal

import polars as pl
from metrics.campaigns import campaigns
from period import Period
from query_scope import Scope
from tables.polars_query import ask_frame
from tables.query import Query

from kit.warehouse_builder import schema_of


def test_days_without_exchange_rate_count_for_neither_side_of_ratios() -> None:
    schema = schema_of("gold.campaign_performance")
    days = (
        # day, campaign, value, conversions, cost
        (1, "spring", 30, 2.0, 10),
        (2, "spring", 500, 7.0, None),
        (2, None, 40, 1.0, 0),
        (3, "summer", 20, 1.0, None),
    )
    rows = [
        {
            "day": date(2026, 3, day),
            "campaign_name": name,
            "model": "linear",
            "credited_reporting_value": Decimal(value),
            "conversions": conversions,
            "cost": None if cost is None else Decimal(cost),
        }
        for day, name, value, conversions, cost in days
    ]
    frame = pl.LazyFrame([{name: row.get(name) for name in schema} for row in rows], schema)

    def ask(query: Query) -> pl.DataFrame:
        return ask_frame(frame, query).collect()

    period = Period(datetime(2026, 3, 1, tzinfo=timezone.utc), datetime(2026, 3, 4, tzinfo=timezone.utc))
    total = campaigns(ask, Scope(period), "linear").total
    shown = ("campaign", "credited_reporting_value", "cost", "value_with_cost", "roas", "cost_per_conversion")
    assert total.select(shown).rows() == [
        ("spring", 530.0, 10.0, 30.0, 3.0, 5.0),
        ("no campaign", 40.0, 0.0, 40.0, None, None),
        ("summer", 20.0, 0.0, 0.0, None, None),
    ]
