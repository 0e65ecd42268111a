"""Generated searches and results against the oracle: all at once, in any batches, late by years."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folds.rule_numbers import RuleNumbers
from folds.visitors.results import ShownResult, affected_spans, as_of, find_results
from folds.visitors.rules import VisitorRules
from folds.visitors.spans import is_within
from kit.oracle_results import search_results
from kit.oracle_wire import DAY, Fields
from kit.result_stories import RESULT_STORIES, to_search_events
from kit.visitor_stories import DELAY, NOON, Story

RULE = VisitorRules.of(RuleNumbers()).searches
ALWAYS = [(-(2**62), 2**62)]
many_examples = settings(max_examples=1_200, deadline=None, suppress_health_check=list(HealthCheck))


def assert_matches_oracle(rows: Iterable[ShownResult], events: list[Fields], watermark: int) -> None:
    found = sorted((row._asdict() for row in rows), key=repr)
    assert found == sorted(search_results(events, watermark), key=repr)


def all_rows(events: Iterable[Fields], watermark: int) -> list[ShownResult]:
    """The rows computed from all events at once."""
    by_visitor = defaultdict(list)
    for each in events:
        by_visitor[each["visitor_id"]].append(each)
    return [
        row
        for visitor, own in by_visitor.items()
        for row in find_results(visitor, to_search_events(own), ALWAYS, RULE, watermark)
    ]


class StoredVisitor:
    """The events and rows of one visitor in silver; each batch recomputes the affected rows."""

    def __init__(self, visitor: str) -> None:
        self.visitor = visitor
        self.events: list[Fields] = []
        self.rows: list[ShownResult] = []

    def add(self, new: list[Fields], watermark: int) -> None:
        """Recompute the searches that new events may change, and apply the watermark to the others."""
        self.events += new
        spans = affected_spans([each["event_time"] for each in new], RULE.span)
        near = [
            each
            for each in self.events
            if any(low <= each["event_time"] < high + RULE.span for low, high in spans)
        ]
        others = [as_of(row, RULE, watermark) for row in self.rows if not is_within(row.event_time, spans)]
        found = find_results(self.visitor, to_search_events(near), spans, RULE, watermark)
        self.rows = others + found


@many_examples
@given(RESULT_STORIES)
def test_results_match_oracle_after_each_batch(story: Story) -> None:
    kept: dict[str, StoredVisitor] = {}
    so_far: list[Fields] = []
    watermark = -(10**18)
    for events, ahead in zip(story.batches, story.ahead, strict=True):
        watermark = max([watermark, *(each["event_time"] - DELAY + ahead for each in events)])
        so_far += events
        for visitor in "ab":
            own = kept.setdefault(visitor, StoredVisitor(visitor))
            own.add([each for each in events if each["visitor_id"] == visitor], watermark)
        assert_matches_oracle([row for each in kept.values() for row in each.rows], so_far, watermark)


@many_examples
@given(RESULT_STORIES, st.sampled_from((0, 10, 20, 10**6)), st.randoms())
def test_results_of_all_events_match_oracle_in_any_order(story: Story, minutes: int, chance: Any) -> None:
    events = story.events
    watermark = NOON + minutes * 60_000_000
    wanted = all_rows(events, watermark)
    assert_matches_oracle(wanted, events, watermark)
    chance.shuffle(events)
    assert sorted(all_rows(events, watermark), key=repr) == sorted(wanted, key=repr)


@settings(max_examples=1_000, deadline=None)
@given(RESULT_STORIES)
def test_result_changes_exactly_when_watermark_reaches_due_time(story: Story) -> None:
    watermark = NOON - DAY
    while due := [row.due_at for row in all_rows(story.events, watermark) if row.due_at is not None]:
        rows = all_rows(story.events, watermark)
        assert all_rows(story.events, min(due) - 1) == rows
        watermark = min(due)
        after = all_rows(story.events, watermark)
        assert [new != old for new, old in zip(after, rows, strict=True)] == [
            row.due_at == watermark for row in rows
        ]
        assert after == [as_of(row, RULE, watermark) for row in rows]
    assert all_rows(story.events, 10**18) == all_rows(story.events, watermark)


@settings(max_examples=300, deadline=None)
@given(RESULT_STORIES)
def test_events_outside_search_span_do_not_change_its_results(story: Story) -> None:
    for search in story.events:
        if search["role"] != "search":
            continue
        low = search["event_time"]
        near = [each for each in story.events if low <= each["event_time"] < low + RULE.span]
        alone, among = (
            [row for row in all_rows(events, NOON) if row.search_event_id == search["event_id"]]
            for events in (near, story.events)
        )
        assert alone == among
