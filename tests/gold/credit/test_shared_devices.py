"""Persons of shared devices: late events and logins restate exactly whose touches and orders they change."""

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import NOON, Bronze, Record, message, record
from kit.spark import empty_home
from lakehouse.settings import Settings
from millrace.audit.gold import audit_gold

pytestmark = pytest.mark.long

MINUTE = timedelta(minutes=1)


def page(visitor: str, at: float, campaign: str = "") -> Record:
    body = message(f"{visitor}-{at:g}", visitor, "page", NOON + at * MINUTE)
    return record({**body, "context": {"page": {"url": f"https://shop.example/{campaign}"}}})


def login(visitor: str, at: float, user: str) -> Record:
    body = message(f"{visitor}-{at:g}-{user}", visitor, "identify", NOON + at * MINUTE)
    return record({**body, "userId": user})


def order(visitor: str, at: float, number: str) -> Record:
    properties = {"order_id": number, "total": "10", "currency": "EUR"}
    body = message(f"order-{number}", visitor, "Order Completed", NOON + at * MINUTE, properties=properties)
    return record({**body, "context": {"page": {"url": "https://shop.example/paid"}}})


EMAIL, ADS = "?utm_source=news&utm_medium=email", "?gclid=1"
BATCHES = (
    [
        # ann, then bob at one computer; ann came by e-mail on her phone
        *(page("phone", -200, EMAIL), login("phone", -199, "ann")),
        *(page("pc", 0), login("pc", 1, "ann"), order("pc", 10, "ann's")),
        *(page("pc", 100, ADS), login("pc", 101, "bob"), order("pc", 110, "bob's")),
        # one long stretch of a single user
        *(login("kiosk", 0, "cid"), *(page("kiosk", at) for at in range(20, 400, 20))),
        # the order is after a gap: of the user who logs in after it
        *(login("till", 0, "dan"), order("till", 55, "moved"), login("till", 60, "eve")),
    ],
    [
        # another user in that stretch, which began before the events of the last hours
        *(login("kiosk", 400, "fay"), order("kiosk", 405, "fay's")),
        # late: closes the gap before the order
        page("till", 28),
        page("clock", 3_000),
    ],
    [
        # late: a first login on the phone by somebody else, after a gap
        *(page("phone", -100, ADS), login("phone", -95, "bob")),
    ],
)
PERSONS = (
    {"ann's": "ann", "bob's": "bob", "moved": "eve"},
    {"ann's": "ann", "bob's": "bob", "moved": "dan", "fay's": "fay"},
    {"ann's": "ann", "bob's": "bob", "moved": "dan", "fay's": "fay"},
)


def persons(settings: Settings) -> dict[str, str]:
    rows = read_rows(settings, "gold.conversions", ("order_id", "person_id"))
    return {row["order_id"]: row["person_id"] for row in rows}


def channels(settings: Settings, number: str) -> list[str]:
    """Channels of an order's linear credit, in order of time."""
    orders = read_rows(settings, "gold.conversions", ("order_id", "conversion_id"))
    (conversion,) = (row["conversion_id"] for row in orders if row["order_id"] == number)
    credit = read_rows(settings, "gold.attribution", ("conversion_id", "model", "position", "channel"))
    mine = [row for row in credit if (row["conversion_id"], row["model"]) == (conversion, "linear")]
    return [row["channel"] for row in sorted(mine, key=lambda row: row["position"])]


def test_persons_of_shared_devices_match_oracle_batch_by_batch(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = empty_home(spark, tmp_path_factory.mktemp("shared"))
    bronze = Bronze(spark, settings)
    for records, expected in zip(BATCHES, PERSONS, strict=True):
        bronze.commit(records)
        run_jobs(spark, settings)
        assert_as_the_oracle(settings, Oracle.over(bronze.stored))
        assert persons(settings) == expected
        assert [each.detail for each in audit_gold(settings) if not each.is_right] == []
    assert channels(settings, "ann's") == ["Email", "Direct"]
    assert channels(settings, "bob's") == ["Paid Search", "Paid Search"]
