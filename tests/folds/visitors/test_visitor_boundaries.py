"""The visitor rules at their boundaries: a microsecond before, and exactly at them."""

import pytest

from folds.rule_numbers import RuleNumbers
from folds.visitors.exposures import Impression, Search
from folds.visitors.fold import find_credit_inputs
from folds.visitors.goals import conversion_id
from folds.visitors.rules import VisitorRules
from kit.histories import fold_history
from kit.oracle_wire import DAY, MINUTE, SECOND, Fields
from kit.visitor_stories import NOON, event, to_events

RULES = VisitorRules.of(RuleNumbers())
LATER = NOON + DAY
KINDS = {
    "seen": {"type": "track", "role": "impression", "promotion_id": "p"},
    "click": {"type": "track", "role": "click", "promotion_id": "p"},
    "search": {"type": "track", "role": "search", "query": "boots"},
    "open": {"type": "track", "role": "result_click", "product_id": "boot"},
    "page": {"type": "page", "role": "page_view"},
    "identify": {"type": "identify", "role": "identify"},
}


def story(*steps: tuple[str, int]) -> list[Fields]:
    """Events of one visitor: kind, and microseconds after noon; UIDs in the order given."""
    return [event(NOON + at, uid=f"{kind}{n}", **KINDS[kind]) for n, (kind, at) in enumerate(steps)]


def exposures(*steps: tuple[str, int], watermark: int = LATER) -> list[tuple[str, str, int]]:
    rows = fold_history("a", to_events(story(*steps)), RULES, watermark)
    shown: list[Impression | Search] = [*rows.impressions, *rows.searches]
    return sorted((row.event_id, row.outcome, row.clicks) for row in shown)


def counted_clicks(*steps: tuple[str, int]) -> list[str]:
    events = to_events(story(*steps))
    sessions = fold_history("a", events, RULES, LATER).sessions
    touches = find_credit_inputs("a", events, sessions, RULES).touches
    return sorted(touch.event_id for touch in touches if touch.kind == "click")


def test_event_extends_session_within_gap_and_starts_new_one_at_gap() -> None:
    for step, wanted in ((30 * MINUTE - 1, [2]), (30 * MINUTE, [1, 1])):
        rows = fold_history("a", to_events(story(("page", 0), ("page", step))), RULES, LATER)
        assert [session.events for session in rows.sessions] == wanted


def test_identify_event_neither_joins_nor_bridges_sessions() -> None:
    steps = story(("page", 0), ("identify", 20 * MINUTE), ("page", 40 * MINUTE))
    assert [each.events for each in fold_history("a", to_events(steps), RULES, LATER).sessions] == [1, 1]


def test_session_is_open_until_watermark_reaches_its_end_plus_gap() -> None:
    events, due = to_events(story(("page", 0), ("page", MINUTE))), NOON + 31 * MINUTE
    for watermark, wanted in ((due - 1, (True, due)), (due, (False, None))):
        (session,) = fold_history("a", events, RULES, watermark).sessions
        assert (session.is_open, session.due_at) == wanted


def test_simultaneous_events_of_session_are_ordered_by_uid() -> None:
    events = [event(NOON, uid="b", url="/b"), event(NOON, uid="a", url="/a")]
    (session,) = fold_history("a", to_events(events), RULES, LATER).sessions
    assert (session.entry_url, session.exit_url) == ("/a", "/b")
    assert (session.first_event_id, session.last_event_id) == ("a", "b")


@pytest.mark.parametrize(
    ("seconds", "kept"),
    [
        ([0], [0]),
        ([0, 9.999999], [0]),
        ([0, 10], [0, 1]),
        ([0, 6, 12, 18, 22], [0, 2, 4]),
        ([12, 0, 6], [0, 1]),
        ([0, 0], [0]),
    ],
    ids=[
        "single", "just_under_pause", "exactly_pause", "measured_from_the_last_counted", "in_any_order",
        "smaller_uid_of_two_simultaneous",
    ],
)  # fmt: skip
def test_click_counts_only_after_pause_since_last_counted_click(
    seconds: list[float], kept: list[int]
) -> None:
    assert counted_clicks(*(("click", int(second * SECOND)) for second in seconds)) == [
        f"click{n}" for n in kept
    ]


@pytest.mark.parametrize(
    ("seen", "click", "span"), [("seen", "click", 30 * MINUTE), ("search", "open", 10 * MINUTE)]
)
def test_click_belongs_to_exposure_within_span_end_exclusive(seen: str, click: str, span: int) -> None:
    assert exposures((seen, 0), (click, span - 1)) == [(f"{seen}0", "clicked", 1)]
    alone = [(f"{click}1", "orphan", 1), (f"{seen}0", "unclicked", 0)]
    assert exposures((seen, 0), (click, span)) == sorted(alone)
    assert exposures((seen, 1), (click, 0)) == sorted(alone)


def test_click_at_impression_time_belongs_to_it_regardless_of_uid() -> None:
    assert exposures(("seen", 0), ("click", 0)) == [("seen0", "clicked", 1)]
    assert exposures(("click", 0), ("seen", 0)) == [("seen1", "clicked", 1)]


def test_click_goes_to_larger_uid_of_simultaneous_impressions() -> None:
    found = exposures(("seen", 0), ("seen", 0), ("click", MINUTE))
    assert found == [("seen0", "unclicked", 0), ("seen1", "clicked", 1)]


def test_every_click_on_a_result_counts() -> None:
    assert exposures(("search", 0), ("open", 1), ("open", 1)) == [("search0", "clicked", 2)]


def test_uncounted_click_joins_exposure_of_preceding_counted_click() -> None:
    steps = (("seen", 0), ("click", 50 * SECOND), ("seen", 52 * SECOND), ("click", 58 * SECOND))
    rows = fold_history("a", to_events(story(*steps)), RULES, LATER).impressions
    assert [[piece.event_id for piece in row.made_of] for row in rows] == [
        ["seen0", "click1", "click3"],
        ["seen2"],
    ]


@pytest.mark.parametrize(("seen", "span"), [("seen", 30 * MINUTE), ("search", 10 * MINUTE)])
def test_exposure_is_open_until_watermark_reaches_end_of_its_span(seen: str, span: int) -> None:
    assert exposures((seen, 0), watermark=NOON + span - 1) == [(f"{seen}0", "open", 0)]
    assert exposures((seen, 0), watermark=NOON + span) == [(f"{seen}0", "unclicked", 0)]


def test_impression_may_change_until_end_of_span_and_click_pause() -> None:
    events, span, reach = to_events(story(("seen", 0))), 30 * MINUTE, 30 * MINUTE + 10 * SECOND
    for after, wanted in (
        (span - 1, ("open", True, NOON + span)),
        (span, ("unclicked", True, NOON + reach)),
        (reach - 1, ("unclicked", True, NOON + reach)),
        (reach, ("unclicked", False, None)),
    ):
        (row,) = fold_history("a", events, RULES, NOON + after).impressions
        assert (row.outcome, row.is_open, row.due_at) == wanted


def test_session_starting_with_counted_click_is_one_touch() -> None:
    click, page = story(("click", 0), ("page", MINUTE))
    events = to_events([{**click, "has_context_campaign": True}, page])
    sessions = fold_history("a", events, RULES, LATER).sessions
    found = find_credit_inputs("a", events, sessions, RULES)
    assert [(touch.kind, touch.channel) for touch in found.touches] == [("click", "Display")]
    assert [(m.minute - NOON, m.channel, m.events, m.sessions, m.clicks) for m in found.minutes] == [
        (0, "Direct", 1, 1, 1),
        (MINUTE, "Direct", 1, 0, 0),
    ]


def test_conversion_id_hashes_compact_json_without_ascii_escapes() -> None:
    assert conversion_id("Order Completed", "ø1", "e") == "a163308e66961c127da9aea1117986c2"
    assert conversion_id("Signed Up", None, "e") != conversion_id("Signed Up", "e", "f")
