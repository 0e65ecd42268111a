"""Published refunds as input of the next batch: the amount that was sent, not the one that counted."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.fold import PersonRules
from folds.persons.refunds import load_order_rules
from folds.rule_numbers import RuleNumbers
from gold.credit.affected_conversions import published_goals
from gold.credit.credit_fold import PAGE_COLUMNS, credit
from kit.frames import frame_of
from kit.records import NOON
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.settings import load_settings

DAY = timedelta(days=1)
ORDER, REFUND = "Order Completed", "Order Refunded"


def published(uid: str, goal: str, day: int, value: str | None, **more: Any) -> dict[str, Any]:
    amount = None if value is None else Decimal(value)
    names = ("conversion_id", "event_id", "visitor_id", "person_id")
    row = {**dict(zip(names, (uid, uid, "ann", "ann"), strict=True)), "goal": goal, "order_id": "A"}
    row |= {"converted_at": NOON + day * DAY, "value": amount, "value_sent": amount, "currency": "EUR"}
    return {**row, "is_of_order": False, "over_refunded": False, **more}


def credited(spark: SparkSession, goals: DataFrame) -> DataFrame:
    """gold.conversions, computed from goals alone."""
    rules = PersonRules.of(RuleNumbers(), ExchangeRates((), "EUR"), load_order_rules(load_settings().conf))
    rates = frame_of(spark, "silver.exchange_rates", [])
    touches = frame_of(spark, TOUCHES.name, []).selectExpr("*", "'' AS person_id")
    pages = frame_of(spark, "silver.events", []).select(*PAGE_COLUMNS).selectExpr("*", "'' AS person_id")
    return rows_of_kind(credit(goals, rates, touches, pages, 0, rules), CONVERSIONS.short_name)


def test_published_refunds_are_cut_again_from_what_was_sent(spark: SparkSession) -> None:
    rows = [
        published("order", ORDER, 0, "50"),
        published("total", REFUND, 3, "-35", value_sent=Decimal(-50), over_refunded=True),
        published("rest", REFUND, 4, "0", value_sent=None, is_of_order=True, over_refunded=True),
        published("earlier", REFUND, 1, "-15"),
        published("late", REFUND, 2, "-5"),
        published("old", REFUND, 5, "-8", value_sent=None),  # of a release without value_sent
    ]
    columns = ("value", "value_sent", "currency", "over_refunded", "is_of_order")
    goals = published_goals(frame_of(spark, CONVERSIONS.name, rows))
    rows_now = credited(spark, goals).collect()
    found = {row["event_id"]: tuple(row[name] for name in columns) for row in rows_now}
    assert found == {
        "order": (50, 50, "EUR", False, False),
        "earlier": (-15, -15, "EUR", False, False),
        "late": (-5, -5, "EUR", False, False),
        "total": (-30, -50, "EUR", True, False),
        "rest": (0, None, "EUR", True, True),
        "old": (0, -8, "EUR", True, False),
    }
