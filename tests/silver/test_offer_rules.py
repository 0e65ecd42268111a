"""Which clicks count, where they belong, and what comes of an offer."""

from datetime import timedelta

import pytest

from kit.records import NOON
from silver.rules.offers import IMPRESSIONS, SEARCHES, Moment, OfferRule

SECOND, MINUTE, TICK = timedelta(seconds=1), timedelta(minutes=1), timedelta(microseconds=1)
SPANS = [(IMPRESSIONS, 30 * MINUTE), (SEARCHES, 10 * MINUTE)]


def moments(*seconds: float) -> list[Moment]:
    return [(NOON + second * SECOND, f"c{number}") for number, second in enumerate(seconds)]


def test_a_click_a_tick_too_soon_does_not_count() -> None:
    first, soon = moments(0, 9.999999)
    assert IMPRESSIONS.counted([soon, first]) == [first]


def test_a_click_exactly_ten_seconds_after_the_last_counted_one_counts() -> None:
    clicks = moments(0, 10)
    assert IMPRESSIONS.counted(clicks) == clicks


def test_the_pause_is_measured_from_the_last_that_counted() -> None:
    clicks = moments(0, 6, 12, 18, 22)
    assert IMPRESSIONS.counted(clicks) == [clicks[0], clicks[2], clicks[4]]


def test_of_two_clicks_at_once_the_smaller_uid_counts() -> None:
    assert IMPRESSIONS.counted([(NOON, "b"), (NOON, "a")]) == [(NOON, "a")]


def test_every_click_on_a_result_counts() -> None:
    clicks = moments(0, 0, 1)
    assert SEARCHES.counted(clicks) == clicks


@pytest.mark.parametrize(("rule", "span"), SPANS)
def test_a_click_belongs_up_to_the_end_of_the_span_and_not_at_it(rule: OfferRule, span: timedelta) -> None:
    offer = (NOON, "o")
    assert rule.offer_of((NOON + span - TICK, "c"), [offer]) == offer
    assert rule.offer_of((NOON + span, "c"), [offer]) is None


@pytest.mark.parametrize(("rule", "span"), SPANS)
def test_a_click_at_the_time_of_the_offer_belongs_to_it(rule: OfferRule, span: timedelta) -> None:
    assert rule.offer_of((NOON, "a"), [(NOON, "b")]) == (NOON, "b")
    assert rule.offer_of((NOON - TICK, "a"), [(NOON, "b")]) is None


def test_the_latest_offer_takes_the_click_and_of_two_at_once_the_larger_uid() -> None:
    offers = [(NOON, "a"), (NOON + MINUTE, "c"), (NOON + MINUTE, "b"), (NOON + 3 * MINUTE, "d")]
    assert IMPRESSIONS.offer_of((NOON + 2 * MINUTE, "x"), offers) == (NOON + MINUTE, "c")


@pytest.mark.parametrize(("rule", "span"), SPANS)
def test_an_offer_is_open_until_the_watermark_has_passed_its_span(rule: OfferRule, span: timedelta) -> None:
    assert rule.outcome(NOON, 0, NOON + span - TICK) == "open"
    assert rule.outcome(NOON, 0, NOON + span) == "unclicked"
    assert rule.outcome(NOON, 1, NOON) == "clicked"
