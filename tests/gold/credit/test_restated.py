"""Late input changes exactly the gold rows that depend on it.

Seven visitors ordered long ago. Then one batch brings late input of a different kind to each of six.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, rate, record
from kit.spark import empty_home
from lakehouse.contracts import TABLES

pytestmark = pytest.mark.long

HOUR = timedelta(hours=1)
CRAWLER = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
PERSONAL = ("gold.conversions", "gold.attribution", "gold.trails", "gold.touches")
Rows = dict[str, dict[tuple[Any, ...], dict[str, Any]]]


def page(uid: str, visitor: str, hour: float, url: str = "https://shop.example/", **more: Any) -> Record:
    context = {"page": {"url": url}, "userAgent": more.pop("agent", BROWSER)}
    return record({**message(uid, visitor, "page", NOON + hour * HOUR), "context": context, **more})


def order(
    uid: str, visitor: str, hour: float, number: str, currency: str = "EUR", total: str = "10"
) -> Record:
    properties = {"order_id": number, "total": total, "currency": currency}
    body = message(uid, visitor, "Order Completed", NOON + hour * HOUR, properties=properties)
    return record({**body, "context": {"page": {"url": "https://shop.example/paid"}}})


def before() -> list[Record]:
    """Each visitor has two visits on different days and an order, all before the watermark."""
    reported = [rate("GBP", "0.5", NOON - HOUR)]
    for who in ("touch", "identity", "order", "rate", "same", "bot", "nobody"):
        currency = {"rate": "USD", "same": "GBP"}.get(who, "EUR")
        reported += [page(f"{who}-1", who, 0), page(f"{who}-2", who, 48)]
        reported.append(order(f"{who}-o", who, 48.1, f"A-{who}", currency))
    reported.append(page("tablet-1", "tablet", 24))  # another device, not identified yet
    return [*reported, page("clock", "clock", 400)]


def late() -> list[Record]:
    identified = {"userId": "ida"}
    return [
        page("touch-3", "touch", 24, "https://shop.example/?utm_medium=email"),
        record({**message("i-1", "identity", "identify", NOON + 48.2 * HOUR), **identified}),
        record({**message("i-2", "tablet", "identify", NOON + 24.2 * HOUR), **identified}),
        order("order-early", "order", 0.1, "A-order"),
        rate("USD", "0.5", NOON - HOUR),
        rate("GBP", "0.50", NOON + HOUR),
        page("bot-3", "bot", 48.2, agent=CRAWLER),
    ]


@pytest.fixture(scope="module")
def states(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Rows]:
    """The tables of gold before and after."""
    settings = empty_home(spark, tmp_path_factory.mktemp("restated"))
    bronze = Bronze(spark, settings)
    found = []
    for records in (before(), late()):
        bronze.commit(records)
        run_jobs(spark, settings)
        assert_as_the_oracle(settings, Oracle.over(bronze.stored))
        found.append(
            {name: _keyed(name, read_rows(settings, name, TABLES[name].column_names)) for name in GOLD}
        )
    return found[0], found[1]


GOLD = (
    *PERSONAL, "gold.traffic", "gold.campaign_performance", "gold.search_performance",
    "gold.result_performance", "gold.promotion_performance", "gold.funnel",
)  # fmt: skip


def _keyed(name: str, rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[key] for key in TABLES[name].key): row for row in rows}


def changes(
    states: tuple[Rows, Rows], table: str
) -> list[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """Changed rows, each as old row and new row."""
    old, new = states[0][table], states[1][table]
    return [(old.get(key), new.get(key)) for key in {*old, *new} if old.get(key) != new.get(key)]


def changed_of(states: tuple[Rows, Rows], table: str, visitor: str) -> list[Any]:
    """The changed rows of one visitor."""
    ids = {
        row["conversion_id"]
        for state in states
        for row in state["gold.conversions"].values()
        if row["visitor_id"] == visitor
    }
    return [
        (old, new)
        for old, new in changes(states, table)
        if (new or old or {}).get("visitor_id") == visitor or (new or old or {}).get("conversion_id") in ids
    ]


def micros_at(hour: float) -> int:
    return round((NOON + hour * HOUR - datetime(1970, 1, 1, tzinfo=NOON.tzinfo)).total_seconds() * 1e6)


def shares(states: tuple[Rows, Rows], number: str, model: str) -> dict[int | None, Decimal]:
    """The credited value of an order by time of the touch, after the late batch."""
    (conversion,) = [row for row in states[1]["gold.conversions"].values() if row["order_id"] == number]
    return {
        row["touched_at"]: row["credited_value"]
        for row in states[1]["gold.attribution"].values()
        if row["conversion_id"] == conversion["conversion_id"] and row["model"] == model
    }


def test_late_touch_shares_credit_of_later_orders(states: tuple[Rows, Rows]) -> None:
    assert shares(states, "A-touch", "linear") == {
        micros_at(0): Decimal("3.3333"), micros_at(24): Decimal("3.3333"), micros_at(48): Decimal("3.3334"),
    }  # fmt: skip
    assert shares(states, "A-touch", "last_non_direct")[micros_at(24)] == 10
    ((old, new),) = changed_of(states, "gold.conversions", "touch")
    assert {name for name in old if old[name] != new[name]} == {"touches"}
    ((none, touch),) = changed_of(states, "gold.touches", "touch")
    assert none is None
    assert (touch["channel"], touch["touched_at"]) == ("Email", micros_at(24))


def test_late_identity_adds_touches_of_other_devices(states: tuple[Rows, Rows]) -> None:
    assert shares(states, "A-identity", "linear").keys() == {micros_at(0), micros_at(24), micros_at(48)}
    ((old, new),) = changed_of(states, "gold.conversions", "identity")
    assert {name for name in old if old[name] != new[name]} == {"touches", "person_id"}
    assert changed_of(states, "gold.touches", "identity") == []  # touches belong to visitors, not to persons


def test_earlier_event_of_an_order_replaces_the_later_one(states: tuple[Rows, Rows]) -> None:
    ((old, new),) = changed_of(states, "gold.conversions", "order")
    assert (old["converted_at"], new["converted_at"]) == (micros_at(48.1), micros_at(0.1))
    assert new["event_id"] == "order-early"
    assert new["conversion_id"] == old["conversion_id"]
    assert shares(states, "A-order", "linear") == {micros_at(0): Decimal(10)}


def test_late_exchange_rate_sets_reporting_value(states: tuple[Rows, Rows]) -> None:
    ((old, new),) = changed_of(states, "gold.conversions", "rate")
    assert {name for name in old if old[name] != new[name]} == {"reporting_value", "rate_valid_from"}
    assert (old["reporting_value"], new["reporting_value"]) == (None, Decimal(5))
    assert (old["rate_valid_from"], new["rate_valid_from"]) == (None, micros_at(-1))
    credited = changed_of(states, "gold.attribution", "rate")
    assert len(credited) == 2 * 6
    assert all(old["credited_reporting_value"] is None for old, _ in credited)
    assert changed_of(states, "gold.touches", "rate") == changed_of(states, "gold.trails", "rate") == []


def test_later_rate_of_the_same_worth_changes_the_rate_that_is_named(states: tuple[Rows, Rows]) -> None:
    ((old, new),) = changed_of(states, "gold.conversions", "same")
    assert {name for name in old if old[name] != new[name]} == {"rate_valid_from"}
    assert (old["rate_valid_from"], new["rate_valid_from"]) == (micros_at(-1), micros_at(1))
    others = ("gold.attribution", "gold.touches", "gold.trails")
    assert all(changed_of(states, table, "same") == [] for table in others)


def test_detected_bot_is_removed_with_all_its_rows(states: tuple[Rows, Rows]) -> None:
    assert all(new is None for table in PERSONAL for _, new in changed_of(states, table, "bot"))
    gone = {table: len(changed_of(states, table, "bot")) for table in PERSONAL}
    assert gone == {
        "gold.conversions": 1,
        "gold.attribution": 12,  # two touches by six models
        "gold.trails": 2,  # the visit and the goal
        "gold.touches": 2,
    }


def test_rows_of_unaffected_persons_do_not_change(states: tuple[Rows, Rows]) -> None:
    named = ("touch", "identity", "order", "rate", "same", "bot")
    for table in PERSONAL:
        reported = sum(len(changed_of(states, table, who)) for who in named)
        assert reported == len(changes(states, table)), table


def test_only_windows_of_affected_minutes_are_revised(states: tuple[Rows, Rows]) -> None:
    minutes = {
        ((new or old or {})["window_start"])
        for old, new in changes(states, "gold.traffic")
        if (new or old or {})["window_kind"] == "1 minute"
    }
    assert minutes == {micros_at(hour) for hour in (0, 0.1, 24, 24.2, 48, 48.1, 48.2)}


def test_late_event_makes_window_late_but_bot_removal_does_not(states: tuple[Rows, Rows]) -> None:
    panes = {
        new["window_start"]: new["pane"]
        for old, new in changes(states, "gold.traffic")
        if old and new and new["window_kind"] == "1 minute" and new["channel"] is None
    }
    assert panes == {
        micros_at(0): "on_time",
        micros_at(24): "late",
        micros_at(48): "on_time",
        micros_at(48.1): "late",
    }
