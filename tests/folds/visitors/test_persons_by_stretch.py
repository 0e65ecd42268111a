"""The person of an event by the oracle: hand-worked cases, and properties of the spans."""

import random
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kit.message_credit import credit_messages
from kit.oracle import Oracle
from kit.oracle_identities import identities_of, persons_of
from kit.oracle_promotions import Choices
from kit.oracle_wire import MINUTE, Fields
from kit.records import NOON, SENT, Stored, message, record
from kit.visitor_stories import NOON as MICROS_OF_NOON
from kit.visitor_stories import event

CASES = yaml.safe_load(Path(__file__).with_name("persons_by_stretch.yml").read_text())
GAP = 30 * MINUTE


def events_of(case: dict[str, Any]) -> list[Fields]:
    """The events of a case, shuffled."""
    events = [
        event(MICROS_OF_NOON + round(minutes * MINUTE), "v", uid, user_id=user)
        for minutes, uid, user in case["events"]
    ]
    return random.Random(1).sample(events, len(events))


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_events_belong_to_expected_persons_and_spans(case: dict[str, Any]) -> None:
    events = events_of(case)
    assert persons_of(events) == case["persons"]
    at = {None: None, **{each["event_id"]: each["event_time"] for each in events}}
    spans = case["spans"]
    following = [*(first for _, first, _ in spans[1:]), None][: len(spans)]
    assert identities_of(events) == [
        {
            "visitor_id": "v",
            "user_id": user,
            "valid_from": at[first],
            "from_event_id": first,
            "valid_to": at[after],
            "to_event_id": after,
            "identified_at": at[identified],
            "event_id": identified,
        }
        for (user, first, identified), after in zip(spans, following, strict=True)
    ]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from((0, 0, 1, 10 * MINUTE, GAP - 1, GAP, 5 * GAP)),
        st.sampled_from("ab"),
        st.sampled_from(("A", "B", "a", None, None, None)),
    ),
    max_size=12,
).flatmap(lambda steps: st.permutations(range(len(steps))).map(lambda uids: build(steps, uids)))


def build(steps: list[tuple[int, str, str | None]], uids: list[int]) -> list[Fields]:
    at, events = MICROS_OF_NOON, []
    for uid, (step, visitor, user) in zip(uids, steps, strict=True):
        at += step
        events.append(event(at, visitor, f"e{uid:02}", user_id=user))
    return events


@given(EVENTS)
def test_event_with_a_user_is_that_persons(events: list[Fields]) -> None:
    persons = persons_of(events)
    assert persons.keys() == {each["event_id"] for each in events}
    assert persons.items() >= {(each["event_id"], each["user_id"]) for each in events if each["user_id"]}


@given(EVENTS)
def test_each_event_lies_in_the_span_of_its_person(events: list[Fields]) -> None:
    spans, persons = identities_of(events), persons_of(events)
    for each in events:
        position = (each["event_time"], each["event_id"])
        found = [
            span["user_id"]
            for span in spans
            if span["visitor_id"] == each["visitor_id"]
            and (span["valid_from"] is None or (span["valid_from"], span["from_event_id"]) <= position)
            and (span["valid_to"] is None or position < (span["valid_to"], span["to_event_id"]))
        ]
        assert (found or [each["visitor_id"]]) == [persons[each["event_id"]]]


@given(EVENTS)
def test_spans_follow_each_other_and_have_an_event_with_their_user(events: list[Fields]) -> None:
    spans, by_uid = identities_of(events), {each["event_id"]: each for each in events}
    assert len({span["event_id"] for span in spans}) == len(spans)
    for visitor in "ab":
        mine = [span for span in spans if span["visitor_id"] == visitor]
        assert bool(mine) == any(each["user_id"] for each in events if each["visitor_id"] == visitor)
        for before, after in pairwise(mine):
            assert before["user_id"] != after["user_id"]
            assert (before["valid_to"], before["to_event_id"]) == (
                after["valid_from"],
                after["from_event_id"],
            )
        ends = (
            span[name] for span in mine for name in ("valid_from", "from_event_id", "valid_to", "to_event_id")
        )
        assert sum(end is None for end in ends) == 4 * bool(mine)
        for span in mine:
            assert by_uid[span["event_id"]]["user_id"] == span["user_id"]
            assert by_uid[span["event_id"]]["event_time"] == span["identified_at"]


@given(EVENTS, st.randoms(use_true_random=False))
def test_order_of_arrival_does_not_matter(events: list[Fields], chance: random.Random) -> None:
    shuffled = chance.sample(events, len(events))
    assert persons_of(shuffled) == persons_of(events)
    assert sorted(map(str, identities_of(shuffled))) == sorted(map(str, identities_of(events)))


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def page(uid: str, visitor: str, hours: float, query: str = "", **more: Any) -> dict[str, Any]:
    context = {"page": {"url": f"https://shop.example/{query}"}}
    return message(uid, visitor, "page", at(hours), context=context, **more)


def order(uid: str, visitor: str, hours: float, **more: Any) -> dict[str, Any]:
    properties = {"order_id": uid, "total": 10, "currency": "EUR"}
    context = {"page": {"url": "https://shop.example/thanks"}}
    return message(uid, visitor, "Order Completed", at(hours), properties=properties, context=context, **more)


def oracle_of(messages: list[dict[str, Any]], **choices: bool) -> Oracle:
    stored = [Stored(record(body), offset, SENT) for offset, body in enumerate(messages)]
    oracle = Oracle.over(stored)
    oracle.choices = Choices(**choices)
    return oracle


SHARED_DEVICE = [
    page("1", "a-phone", 8, "?utm_source=news&utm_medium=email", userId="A"),
    page("2", "pc", 10),
    message("3", "pc", "identify", at(10.1), userId="A"),
    order("order-A", "pc", 10.2, userId="A"),
    page("4", "pc", 12, "?gclid=G9"),
    message("5", "pc", "identify", at(12.1), userId="B"),
    order("order-B", "pc", 12.2, userId="B"),
]
OF_SHARED_DEVICE = {
    "order-A": [("Email", 0.5), ("Direct", 0.5)],
    "order-B": [("Paid Search", 1.0)],
}


def test_two_people_at_one_computer_have_their_own_touches() -> None:
    gold = oracle_of(SHARED_DEVICE).gold
    assert {each["order_id"]: each["person_id"] for each in gold.conversions} == {
        "order-A": "A",
        "order-B": "B",
    }
    ids = {each["conversion_id"]: each["order_id"] for each in gold.conversions}
    found: dict[str, list[tuple[str, float]]] = {"order-A": [], "order-B": []}
    for row in gold.attribution:
        if row["model"] == "linear":
            found[ids[row["conversion_id"]]].append((row["channel"], row["credit"]))
    assert found == OF_SHARED_DEVICE


def test_folds_give_two_people_at_one_computer_their_own_touches() -> None:
    assert credit_messages(SHARED_DEVICE).credit("linear") == [
        each for credit in OF_SHARED_DEVICE.values() for each in credit
    ]


@pytest.mark.parametrize(
    ("seen_by", "channels", "steps"),
    [
        ("B", ["Direct", "Display", "Referral"], ["view", "visit", "goal"]),
        ("A", ["Referral"], ["visit", "goal"]),
    ],
)
def test_impression_seen_by_another_person_is_neither_touch_nor_step(
    seen_by: str, channels: list[str], steps: list[str]
) -> None:
    properties = {"promotion_id": "p"}
    gold = oracle_of(
        [
            message("seen", "pc", "Promotion Viewed", at(0), userId=seen_by, properties=properties),
            page("landing", "pc", 2, "?utm_campaign=p"),
            order("order-B", "pc", 2.1, userId="B"),
        ],
        view_through=True,
    ).gold
    (view,) = [touch["view"] for touch in gold.touches if touch["view"]]
    assert view["event_id"] == "seen"
    assert sorted(row["channel"] for row in gold.attribution if row["model"] == "linear") == channels
    assert [step["kind"] for step in gold.trails] == steps
