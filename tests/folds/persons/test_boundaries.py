"""Hand-worked boundary cases of attribution."""

from decimal import Decimal
from typing import Any

import pytest

from folds.persons.credit import split_value
from folds.persons.exchange_rates import ExchangeRates, Rate
from folds.persons.fold import PersonRows, PersonRules, fold_person
from folds.persons.models import MODELS
from folds.persons.records import AttributionRow, Goal, Impression, Touch, Visit
from folds.persons.refunds import OrderRules
from folds.rule_numbers import RuleNumbers

DAY = 86_400_000_000  # microseconds
NOON = 20_000 * DAY + DAY // 2
SHOP, BLOG = "https://shop.example/", "https://blog.example/"
ORDER, REFUND = "Order Completed", "Order Refunded"
RATES = (
    Rate("USD", Decimal("0.5000000000"), NOON, NOON + DAY),
    Rate("USD", Decimal("1.2345600000"), NOON + DAY, None),
    Rate("GBP", Decimal("2.0000000000"), NOON, NOON + DAY),
    Rate("EUR", Decimal("7.0000000000"), NOON, None),
)


def money(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value).quantize(Decimal("0.0001"))


def goal(uid: str = "goal", kind: str = ORDER, at: int = NOON, order: str | None = "1", **more: Any) -> Goal:
    visit = Visit("session", "landing", at - 1000, SHOP, BLOG, "Direct")
    given = {"conversion_id": f"{kind}-{order or uid}", "event_id": uid, "visitor_id": "ann", "visit": visit,
             "person_id": "anna", "goal": kind, "order_id": order, "converted_at": at, "value": money("10"),
             "currency": "EUR"}  # fmt: skip
    return Goal(**{**dict.fromkeys(Goal._fields), "is_published": False, **given, **more})


def touch(uid: str, at: int, channel: str = "Email", **more: Any) -> Touch:
    given = {"touch_id": uid, "event_id": uid, "visitor_id": "ann", "touched_at": at, "kind": "visit",
             "channel": channel}  # fmt: skip
    return Touch(**{**dict.fromkeys(Touch._fields), **given, **more})


def fold(goals: list[Goal], *touches: Touch, person: str = "anna", watermark: int = NOON) -> PersonRows:
    rules = PersonRules.of(RuleNumbers(), ExchangeRates(RATES, "EUR"), OrderRules({REFUND: ORDER}, {}))
    return fold_person(goals, {person: touches}, (), watermark, rules)


def rows_of(rows: PersonRows, model: str, goal: str = ORDER) -> list[AttributionRow]:
    return [row for row in rows.attribution if row.model == model and row.conversion_id.startswith(goal)]


@pytest.mark.parametrize(
    ("before", "counts"), [(30 * DAY, True), (30 * DAY + 1, False), (0, True), (-1, False), (15 * DAY, True)]
)
def test_touch_counts_within_look_back_up_to_conversion_time(before: int, counts: bool) -> None:
    rows = fold([goal()], touch("t", NOON - before))
    assert rows.conversions[0].touches == counts
    assert [row.touch_id for row in rows_of(rows, "last")] == (["t"] if counts else [None])


def test_simultaneous_touches_are_ordered_by_id() -> None:
    rows = fold([goal()], touch("b", NOON), touch("z", NOON - 1), touch("a", NOON))
    assert [(row.position, row.touch_id) for row in rows_of(rows, "first")] == [(1, "z"), (2, "a"), (3, "b")]


def test_conversion_without_touches_is_credited_to_direct() -> None:
    rows = fold([goal(rules_version="7")])
    assert len(rows.attribution) == 6
    for row in rows.attribution:
        assert (row.touch_id, row.touched_at, row.position) == (None, None, 0)
        assert (row.channel, row.credit, row.rules_version) == ("Direct", 1.0, "7")
        assert row.credited_value == row.credited_reporting_value == money("10")


def test_last_non_direct_credits_last_touch_when_all_are_direct() -> None:
    rows = fold([goal()], touch("a", NOON - 2, "Direct"), touch("b", NOON - 1, "Direct"))
    assert [row.credit for row in rows_of(rows, "last_non_direct")] == [0.0, 1.0]


@pytest.mark.parametrize("refunded_at", [NOON - 3 * DAY, NOON, NOON + 40 * DAY])
@pytest.mark.parametrize("person", ["anna", "bert"])
def test_refund_has_touches_and_credits_of_its_order(refunded_at: int, person: str) -> None:
    refund = goal("back", REFUND, refunded_at, person_id=person, visitor_id=person, value=money("-9.9999"))
    for goals in ([goal(), refund], [refund, goal()]):
        rows = fold(goals, touch("t", NOON - 20 * DAY, "Email"), touch("u", NOON - 1, "Direct"))
        of_refund = rows_of(rows, "linear", REFUND)
        assert [row.touch_id for row in of_refund] == ["t", "u"]
        assert [row.credited_value for row in of_refund] == [money("-5"), money("-4.9999")]
        for model in MODELS:
            of_order = [row.credit for row in rows_of(rows, model)]
            assert [row.credit for row in rows_of(rows, model, REFUND)] == of_order
        steps = [(row.kind, row.event_id) for row in rows.trails if row.conversion_id.startswith(REFUND)]
        assert steps == [("visit", "landing"), ("goal", "goal"), ("goal", "back")]


@pytest.mark.parametrize("order", [None, "2"])
def test_refund_of_unknown_order_has_its_own_touches(order: str | None) -> None:
    rows = fold([goal(), goal("back", REFUND, NOON + 1, order)], touch("t", NOON + 1))
    assert [row.touch_id for row in rows_of(rows, "last", REFUND)] == ["t"]
    assert [row.touch_id for row in rows_of(rows, "last")] == [None]


def test_refund_is_converted_at_rate_of_its_own_time() -> None:
    back = goal("back", REFUND, NOON + DAY, value=money("-1"), currency="USD")
    rows = fold([goal(value=money("1"), currency="USD"), back])
    assert [row.reporting_value for row in rows.conversions] == [money("0.5"), money("-1.2346")]


def test_duplicate_order_keeps_earliest_goal_then_smallest_uid() -> None:
    late, high, low = goal("a", at=NOON + 1), goal("c", visitor_id="bert"), goal("b", value=money("7"))
    for goals in ([late, high, low], [low, high, late], [high, late, low]):
        (row,) = fold(goals).conversions
        assert (row.event_id, row.value, row.converted_at) == ("b", money("7"), NOON)


def test_event_replaces_published_row_unless_only_the_row_has_a_session() -> None:
    published = goal(url="published", is_published=True)
    for goals, url in (
        ([published, goal(url="event")], "event"),
        ([published, goal(url="event", visit=None)], "published"),
        ([published._replace(visit=None), goal(url="event", visit=None)], "event"),
    ):
        for each in (goals, goals[::-1]):
            assert [row.url for row in fold(each).conversions] == [url]


@pytest.mark.parametrize(("watermark", "is_final"), [(NOON - 1, False), (NOON, True)])
def test_conversion_is_final_once_watermark_reaches_it(watermark: int, is_final: bool) -> None:
    assert fold([goal()], watermark=watermark).conversions[0].is_final is is_final


MAX_VALUE = "99999999999999.9999"


@pytest.mark.parametrize(
    ("currency", "at", "value", "worth"),
    [
        ("USD", NOON - 1, "1.0001", None),
        ("USD", NOON, "1.0001", "0.5001"),
        ("usd", NOON + DAY - 1, "1.0001", "0.5001"),
        ("USD", NOON + DAY, "1.0001", "1.2347"),
        ("USD", NOON, "-1.0001", "-0.5001"),
        ("GBP", NOON + DAY - 1, "1.0001", "2.0002"),
        ("GBP", NOON + DAY, "1.0001", None),
        ("USD", NOON + DAY, MAX_VALUE, None),
        ("USD", NOON + DAY, f"-{MAX_VALUE}", None),
        ("USD", NOON, MAX_VALUE, "50000000000000.0000"),
        ("GBP", NOON, "49999999999999.9999", "99999999999999.9998"),
        ("GBP", NOON, "50000000000000", None),
        ("EUR", NOON, "1.0001", "1.0001"),
        ("eUr", NOON - DAY, MAX_VALUE, MAX_VALUE),
        ("JPY", NOON, "1", None),
        ("", NOON, "1", None),
        (None, NOON, "1", None),
        ("USD", NOON, None, None),
        ("EUR", NOON, None, None),
    ],
)
def test_value_is_converted_at_rate_valid_at_conversion_time(
    currency: str | None, at: int, value: str | None, worth: str | None
) -> None:
    rows = fold([goal(at=at, value=money(value), currency=currency)], touch("a", at), touch("b", at))
    assert rows.conversions[0].reporting_value == money(worth)
    for row in rows.attribution:
        assert (row.credited_value is None) == (value is None)
        assert (row.credited_reporting_value is None) == (worth is None)


@pytest.mark.parametrize(
    ("currency", "at", "value", "since"),
    [
        ("USD", NOON - 1, "1", None),
        ("usd", NOON, "1", NOON),
        ("USD", NOON + DAY - 1, "0", NOON),
        ("USD", NOON + DAY, "1", NOON + DAY),
        ("USD", NOON + DAY, MAX_VALUE, None),
        ("USD", NOON + DAY, None, None),
        ("GBP", NOON + DAY, "1", None),
        ("EUR", NOON + DAY, "1", None),
        (None, NOON, "1", None),
    ],
)
def test_rate_is_named_where_reporting_value_needed_one(
    currency: str | None, at: int, value: str | None, since: int | None
) -> None:
    (row,) = fold([goal(at=at, value=money(value), currency=currency)]).conversions
    assert row.rate_valid_from == since


@pytest.mark.parametrize(
    ("value", "credits_", "parts"),
    [
        ("10", [1 / 3] * 3, ["3.3333", "3.3333", "3.3334"]),
        ("-10", [1 / 3] * 3, ["-3.3333", "-3.3333", "-3.3334"]),
        ("0.0001", [0.5, 0.5], ["0.0001", "0"]),
        ("-0.0001", [0.5, 0.5], ["-0.0001", "0"]),
        ("0.0005", [0.7, 0.3], ["0.0003", "0.0002"]),  # 0.00035 rounds up to 0.0004; the remainder is -0.0001
        ("0.0005", [0.4, 0.2, 0.4], ["0.0002", "0.0001", "0.0002"]),
        ("0.0002", [0.4, 0.4, 0.2], ["0.0001", "0.0001", "0"]),
        ("0.0004", [0.4, 0.4, 0.2], ["0.0002", "0.0001", "0.0001"]),
        ("0.0006", [0.25, 0.25, 0.25, 0.25], ["0.0002", "0.0002", "0.0002", "0"]),
        (MAX_VALUE, [1 / 3] * 3, ["33333333333333.3300", "33333333333333.3300", "33333333333333.3399"]),
        ("0", [0.5, 0.5], ["0", "0"]),
        (None, [0.5, 0.5], [None, None]),
    ],
)
def test_rounding_remainder_goes_to_largest_then_latest_credit(
    value: str | None, credits_: list[float], parts: list[str | None]
) -> None:
    found = split_value(money(value), credits_)
    assert found == [money(part) for part in parts]
    assert all(part is None or part.as_tuple().exponent == -4 for part in found)
    assert "-0.0000" not in map(str, found)


@pytest.mark.parametrize(
    ("click", "matched_on"),
    [
        ({"touched_at": NOON - 1000}, "session"),
        ({"touched_at": NOON - 1001, "url": f"{SHOP}#top"}, "url"),
        ({"touched_at": NOON - 1000, "url": SHOP, "visitor_id": "other"}, "url"),
        ({"touched_at": NOON - 999, "url": SHOP, "visitor_id": "other"}, None),
        ({"touched_at": NOON - 9999, "url": BLOG}, "referrer"),
        ({"touched_at": NOON - 9999, "url": None}, None),
        ({"touched_at": NOON - 9999, "url": ""}, None),
        ({"touched_at": NOON - 1000, "kind": "visit"}, None),
    ],
)
def test_click_joins_trail_by_session_landing_url_or_referrer(
    click: dict[str, Any], matched_on: str | None
) -> None:
    seen = Impression("seen", NOON - 10_000, SHOP, None)
    clicked = touch("c", NOON, promotion_id="p", impression=seen)._replace(**{"kind": "click", **click})
    steps = fold([goal()], clicked).trails
    found = [(row.step, row.kind, row.promotion_id, row.matched_on) for row in steps]
    before = [("impression", "p", "promotion"), ("click", "p", matched_on)] if matched_on else []
    chain = [*before, ("visit", None, "session"), ("goal", None, None)]
    assert found == [(number, *step) for number, step in enumerate(chain, 1)]


def test_conversion_outside_session_has_no_click_in_its_trail() -> None:
    steps = fold([goal(visit=None)], touch("c", NOON, kind="click", url=SHOP)).trails
    assert [(row.step, row.kind) for row in steps] == [(1, "goal")]


def test_trail_uses_last_matching_click() -> None:
    clicks = [touch(uid, NOON - 5000 + number, kind="click", url=SHOP) for number, uid in enumerate("ab")]
    steps = fold(
        [goal()], *clicks, touch("c", NOON - 4000, kind="click", url="https://other.example/")
    ).trails
    assert [(row.kind, row.event_id) for row in steps][:2] == [("click", "b"), ("visit", "landing")]
