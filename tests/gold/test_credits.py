"""The cases of credits.yml, through the functions that attribute conversions."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gold.attribution import credit_touches
from gold.conversions import anchor_refunds
from gold.journeys import trace_journeys
from gold.rules.models import MODELS
from kit.records import NOON
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES

CASES = yaml.safe_load(Path(__file__).with_name("credits.yml").read_text())
NAMES = [case["case"] for case in CASES]
Shares = dict[tuple[str, str, str], dict[str | None, Decimal | None]]


def read_touches() -> list[tuple[Any, ...]]:
    rows = []
    for case in CASES:
        for name, said in case["touches"].items():
            days, channel = said.split(" ", 1)
            rows.append((f"{case['case']}|{name}", case["case"], NOON - timedelta(days=float(days)), channel))
    return rows


def read_conversions() -> list[tuple[Any, ...]]:
    rows = []
    for case in CASES:
        for each in case["conversions"]:
            at = NOON + timedelta(days=each.get("days after noon", 0))
            order = f"{case['case']}|{each['order']}" if "order" in each else None
            value = None if each["value"] is None else Decimal(str(each["value"])).quantize(Decimal("0.0001"))
            rows.append((f"{case['case']}|{each['goal']}", case["case"], each["goal"], order, at, value))
    return rows


@pytest.fixture(scope="module")
def shares(spark: SparkSession) -> Shares:
    """By case, goal and model, what each touch has of the value."""
    touches = spark.createDataFrame(
        read_touches(), "touch_id string, person_id string, touched_at timestamp, channel string"
    )
    more = {name: F.lit(None) for name in TOUCHES.column_names if name not in touches.columns}
    conversions = spark.createDataFrame(
        read_conversions(),
        "conversion_id string, person_id string, goal string, order_id string, converted_at timestamp, "
        "value decimal(18,4)",
    ).withColumn("reporting_value", F.col("value"))
    rest = {name: F.lit(None) for name in CONVERSIONS.column_names if name not in conversions.columns}
    anchored = anchor_refunds(conversions.withColumns(rest), {"Order Refunded": "Order Completed"})
    journeys = trace_journeys(anchored.drop("touches"), touches.withColumns(more))
    found: Shares = {}
    for row in credit_touches(journeys).orderBy("position").collect():
        assert row.credited_value == row.credited_reporting_value
        case, goal = row.conversion_id.split("|")
        touch = row.touch_id.split("|")[1] if row.touch_id else None
        assert (touch is None) == (row.position == 0)
        assert touch is not None or row.channel == "Direct"
        found.setdefault((case, goal, row.model), {})[touch] = row.credited_value
    return found


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_by_hand(shares: Shares, case: dict[str, Any]) -> None:
    compared = 0
    for goal, expected in case["expect"].items():
        for models, wanted in expected.items():
            for model in models.split(", "):
                told = {
                    name: None if value is None else Decimal(str(value)) for name, value in wanted.items()
                }
                assert shares[case["case"], goal, model] == told, (goal, model)
                assert list(shares[case["case"], goal, model]) == sorted(told, key=str), (goal, model)
                compared += 1
    assert compared


def test_every_model_is_there_by_hand() -> None:
    named = {
        name
        for case in CASES
        for expected in case["expect"].values()
        for models in expected
        for name in models.split(", ")
    }
    assert named == set(MODELS)
