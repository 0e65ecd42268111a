"""Gold's transforms by themselves, on frames of a few rows."""

import random
from datetime import timedelta
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gold.attribution import credit_touches
from gold.clicks import count_clicks
from gold.rates import rated_by, report_values
from gold.rules.clicks import counted
from gold.rules.models import MODELS, Touch
from gold.rules.models import credits as credits_of
from kit.records import NOON
from lakehouse.contracts.gold import TOUCHES

SECOND = timedelta(seconds=1)


def as_journeys(rows: DataFrame) -> DataFrame:
    """What `gold.journeys.trace_journeys` gives, of rows with `channel`, `touched_at` and `at`."""
    none = F.lit(None).cast("string")
    names = [name for name in TOUCHES.column_names if name not in ("channel", "touched_at")]
    touch = F.struct("channel", "touched_at", *(none.alias(name) for name in names))
    more = {
        "touch": touch,
        "anchor": F.struct("at"),
        "converted_at": F.col("at"),
        "reporting_value": F.col("value"),
        "rules_version": none,
    }
    return rows.withColumns(more).drop("channel", "touched_at")


def test_columns_count_the_clicks_that_the_rule_counts(spark: SparkSession) -> None:
    chance = random.Random(5)
    rows, kept = [], []
    for visitor in ("v", "w"):
        for promotion in ("p", "q"):
            seconds = [chance.choice([0, 4, 5, 6, 10, 14, 15, 16, 20, 25, 30, 36]) for _ in range(9)]
            clicks = [(NOON + s * SECOND, f"{visitor}{promotion}{n}") for n, s in enumerate(seconds)]
            rows += [(visitor, promotion, at, uid) for at, uid in clicks]
            kept += counted(clicks)
    columns = "visitor_id string, promotion_id string, event_time timestamp, event_id string"
    found = count_clicks(spark.createDataFrame(rows, columns).coalesce(1)).collect()
    assert sorted(row.event_id for row in found) == sorted(kept)


def test_a_value_is_shared_to_the_last_ten_thousandth(spark: SparkSession) -> None:
    journeys = [
        ("tiny", Decimal("0.0001"), 7),
        ("third", Decimal("10.0000"), 3),
        ("refund", Decimal("-10.0000"), 3),
        ("nothing", None, 2),
        ("huge", Decimal("99999999999999.9999"), 7),
    ]
    rows = [(name, n, value, touches) for name, value, touches in journeys for n in range(1, touches + 1)]
    frame = spark.createDataFrame(
        rows, "conversion_id string, position int, value decimal(18,4), touches bigint"
    ).coalesce(1)
    frame = frame.withColumns({"channel": F.lit("Email"), "touched_at": F.lit(NOON), "at": F.lit(NOON)})
    found: dict[tuple[str, str], list[Decimal]] = {}
    for row in credit_touches(as_journeys(frame)).orderBy("position").collect():
        assert row.credited_value == row.credited_reporting_value
        found.setdefault((row.conversion_id, row.model), []).append(row.credited_value)
    assert found["tiny", "linear"] == [0, 0, 0, 0, 0, 0, Decimal("0.0001")]
    assert found["third", "linear"] == [Decimal("3.3333"), Decimal("3.3333"), Decimal("3.3334")]
    assert found["refund", "linear"] == [Decimal("-3.3333"), Decimal("-3.3333"), Decimal("-3.3334")]
    assert found["third", "position_based"] == [4, 2, 4]
    assert found["third", "first"] == [10, 0, 0]
    assert found["third", "last"] == [0, 0, 10]
    assert found["nothing", "linear"] == [None, None]
    for name, value, _ in journeys[:3] + journeys[4:]:
        assert all(sum(parts) == value for (of, _), parts in found.items() if of == name)


def test_columns_credit_as_the_rules_do(spark: SparkSession) -> None:
    chance = random.Random(9)
    journeys, rows = {}, []
    for number in range(60):
        ages = sorted(
            (chance.choice([0, 1, 90, 5000]) * SECOND for _ in range(chance.randint(1, 5))), reverse=True
        )
        touches = [Touch(chance.choice(["Direct", "Direct", "Email"]), age) for age in ages]
        journeys[f"c{number}"] = touches
        rows += [
            (f"c{number}", place, len(touches), touch.channel, NOON - touch.age, NOON)
            for place, touch in enumerate(touches, 1)
        ]
    columns = "conversion_id string, position int, touches bigint, channel string"
    frame = spark.createDataFrame(rows, f"{columns}, touched_at timestamp, at timestamp")
    frame = frame.withColumn("value", F.lit(1).cast("decimal(18,4)"))
    found: dict[tuple[str, str], list[float]] = {}
    for row in credit_touches(as_journeys(frame)).orderBy("position").collect():
        found.setdefault((row.conversion_id, row.model), []).append(row.credit)
    assert found.keys() == {(name, model) for name in journeys for model in MODELS}
    for (name, model), shares in found.items():
        assert shares == pytest.approx(credits_of(model, journeys[name]), abs=1e-12)


def test_a_rate_applies_from_its_start_up_to_and_without_the_next(spark: SparkSession) -> None:
    hour, tick = timedelta(hours=1), timedelta(microseconds=1)
    rates = [
        ("USD", Decimal("0.5"), NOON, NOON + hour),
        ("USD", Decimal("1.23456"), NOON + hour, None),
        ("EUR", Decimal(7), NOON, None),
    ]
    columns = "currency string, rate decimal(19,10), valid_from timestamp, valid_to timestamp"
    rated = spark.createDataFrame(rates, columns).coalesce(1)
    one, most = Decimal("1.0001"), Decimal("99999999999999.9999")
    cases = {
        "a tick before the first": ("USD", NOON - tick, one, None),
        "at the first's start": ("USD", NOON, one, Decimal("0.5001")),
        "a tick before the next": ("usd", NOON + hour - tick, one, Decimal("0.5001")),
        "at the next's start": ("USD", NOON + hour, one, Decimal("1.2347")),
        "a refund": ("USD", NOON, -one, Decimal("-0.5001")),
        "more than fits": ("USD", NOON + hour, most, None),
        "the reporting currency": ("eur", NOON, one, one),
        "no rate": ("JPY", NOON, one, None),
        "no currency": (None, NOON, one, None),
        "no value": ("USD", NOON, None, None),
    }
    rows = [(name, *case[:3]) for name, case in cases.items()]
    columns = "name string, currency string, converted_at timestamp, value decimal(18,4)"
    conversions = spark.createDataFrame(rows, columns).coalesce(1)
    found = {row["name"]: row.reporting_value for row in report_values(conversions, rated, "EUR").collect()}
    assert found == {name: case[3] for name, case in cases.items()}
    later = {row["name"] for row in rated_by(conversions, rated.where("valid_to IS NULL")).collect()}
    assert later == {"at the next's start", "more than fits", "the reporting currency"}
