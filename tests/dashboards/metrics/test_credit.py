"""Credit metrics, computed over handmade frames."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import polars as pl
from metrics import attribution
from period import Period
from query_scope import Scope
from tables.polars_query import ask_frame
from tables.query import Query

from kit.warehouse_builder import schema_of

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def test_refunds_reduce_credited_value_but_not_conversions() -> None:
    schema = schema_of("gold.attribution")
    same = {"model": "linear", "channel": "Email", "converted_at": NOON, "credit": 0.5}
    rows = [
        {**same, "is_counted": counted, "credited_reporting_value": Decimal(value)}
        for counted, value in ((True, 10), (None, 5), (False, -4))
    ]
    frame = pl.LazyFrame([{name: row.get(name) for name in schema} for row in rows], schema)

    def ask(query: Query) -> pl.DataFrame:
        return ask_frame(frame, query).collect()

    day = timedelta(days=1)
    scope = Scope(Period(NOON - day, NOON + day))
    found = attribution.credited(ask, scope, "channel").to_dicts()
    assert found == [{"label": "Email", "model": "linear", "conversions": 1.0, "reporting_value": 11.0}]
