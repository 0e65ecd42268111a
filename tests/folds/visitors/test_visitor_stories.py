"""Generated stories through the visitor fold against the oracle: at once, in any batches, late by years."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folds.rule_numbers import RuleNumbers
from folds.visitors.fold import Fragments, VisitorRows, find_credit_inputs, fold_visitor
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session
from kit.consent_stories import CONSENT_CHOICES, STATEMENTS, consents_of, with_statements
from kit.histories import fold_history
from kit.oracle import Oracle
from kit.oracle_consents import ConsentChoices
from kit.oracle_gold import Gold, conversion_id
from kit.oracle_promotions import Choices
from kit.oracle_windows import Windows
from kit.oracle_wire import MINUTE, Fields
from kit.visitor_stories import CHOICES, DELAY, STORIES, Story, rules_of, to_events

RULES = VisitorRules.of(RuleNumbers(), ["Order Refunded"])
many_examples = settings(max_examples=1_800, deadline=None, suppress_health_check=list(HealthCheck))


def plain(row: Any) -> Any:
    """A row with its structs as dicts."""
    if isinstance(row, tuple) and hasattr(row, "_asdict"):
        return {name: plain(value) for name, value in row._asdict().items()}
    return [plain(each) for each in row] if isinstance(row, list) else row


def assert_rows(found: Iterable[NamedTuple], wanted: Sequence[Fields]) -> None:
    """The same rows, in any order, as far as the oracle knows their columns."""
    names = wanted[0] if wanted else {}
    assert sorted([{n: v for n, v in plain(row).items() if n in names} for row in found], key=repr) == sorted(
        [{name: row[name] for name in plain(one) if name in row} for row, one in _paired(wanted, found)],
        key=repr,
    )


def _paired(wanted: Sequence[Fields], found: Iterable[NamedTuple]) -> list[tuple[Fields, NamedTuple]]:
    first = next(iter(found), None)
    assert (first is None) == (not wanted)
    return [(row, first) for row in wanted] if first is not None else []


def assert_matches_oracle(rows: Iterable[VisitorRows], events: list[Fields], watermark: int) -> None:
    oracle = Oracle(events=events, watermark=watermark)
    every = list(rows)
    assert_rows([row for each in every for row in each.sessions], oracle.sessions)
    assert_rows([row for each in every for row in each.impressions], oracle.impressions)
    assert_rows([row for each in every for row in each.searches], oracle.searches)


def by_visitor(events: Iterable[Fields]) -> dict[str, list[Fields]]:
    found = defaultdict(list)
    for each in events:
        found[each["visitor_id"]].append(each)
    return found


def watermark_of(story: Story, before: int, batch: int) -> int:
    times = [each["event_time"] for each in story.batches[batch]]
    return max(before, *(time - DELAY + story.ahead[batch] for time in times)) if times else before


def all_rows(rows: VisitorRows) -> list[Any]:
    return [*rows.sessions, *rows.impressions, *rows.searches]


class StoredVisitor:
    """The rows of one visitor in silver; a fold reads some of them and replaces these."""

    def __init__(self) -> None:
        self.rows = VisitorRows()

    def refine(self, events: list[Fields], before: int, watermark: int) -> None:
        """Fold on-time events into open rows, and sessions that new ones may continue; or fold due rows."""
        due = [row for row in all_rows(self.rows) if row.due_at is not None and row.due_at <= watermark]
        since = before - RULES.continuation_span
        if events:
            self._fold(
                events,
                watermark,
                lambda row: row.is_open or (isinstance(row, Session) and row.ended_at >= since),
            )
        elif due:
            self._fold(events, watermark, lambda row: row.is_open)

    def repair(self, events: list[Fields], watermark: int) -> None:
        """Fold late events into all later rows, and those within reach before them."""
        times = [each["event_time"] for each in events]
        if not times:
            return

        def is_affected(row: Any) -> bool:
            if isinstance(row, Session):
                return row.ended_at > min(times) - RULES.session_gap - RULES.continuation_span
            rule = RULES.impressions if hasattr(row, "promotion_id") else RULES.searches
            return bool(row.event_time > min(times) - rule.reach)

        self._fold(events, watermark, is_affected)

    def _fold(self, events: list[Fields], watermark: int, wanted: Any) -> None:
        fragments = Fragments()
        fragments.add_rows(VisitorRows(*([row for row in rows if wanted(row)] for rows in self.rows)))
        for event in to_events(events):
            fragments.add_event(event)
        visitor = events[0]["visitor_id"] if events else all_rows(self.rows)[0].visitor_id
        folded = fold_visitor(visitor, fragments, RULES, watermark)
        kept = [[row for row in rows if not wanted(row)] for rows in self.rows]
        self.rows = VisitorRows(*([*old, *new] for old, new in zip(kept, folded, strict=True)))


@many_examples
@given(STORIES)
def test_silver_rows_match_oracle_after_each_batch(story: Story) -> None:
    kept: dict[str, StoredVisitor] = defaultdict(StoredVisitor)
    so_far: list[Fields] = []
    watermark = -(10**18)
    for batch, events in enumerate(story.batches):
        before, watermark = watermark, watermark_of(story, watermark, batch)
        so_far += events
        of = by_visitor(events)
        for visitor in {*of, *kept}:
            kept[visitor].refine([e for e in of[visitor] if e["event_time"] > before], before, watermark)
            kept[visitor].repair([e for e in of[visitor] if e["event_time"] <= before], watermark)
        if so_far:
            assert_matches_oracle([each.rows for each in kept.values()], so_far, watermark)


@many_examples
@given(STORIES, st.sampled_from(CHOICES), STATEMENTS, CONSENT_CHOICES)
def test_silver_rows_and_gold_inputs_of_all_events_match_oracle(
    story: Story, choices: Choices, stated: list[Any], consent: ConsentChoices
) -> None:
    events = story.events
    with_statements(events, stated)
    watermark = max(each["event_time"] for each in events)
    oracle = Oracle(events=events, watermark=watermark)
    gold = Gold(events, oracle.sessions, watermark, [], choices=choices, consent=consent)
    rules = rules_of(choices)
    touches, goals, minutes, silver = [], [], [], []
    for visitor, theirs in by_visitor(events).items():
        rows = fold_history(visitor, to_events(theirs), RULES, watermark)
        consents = consents_of(visitor, theirs, consent)
        found = find_credit_inputs(visitor, to_events(theirs), rows.sessions, rules, consents=consents)
        silver.append(rows)
        touches += found.touches
        goals += found.goals
        minutes += found.minutes
    assert_matches_oracle(silver, events, watermark)
    assert_rows(touches, gold.touches)
    assert_goals(goals, events, gold)
    assert_minutes(minutes, gold)


def assert_goals(goals: list[Any], events: list[Fields], gold: Gold) -> None:
    """Each goal has its conversion id, and the first goal of an id is the oracle's conversion."""
    ids = {each["event_id"]: conversion_id(each) for each in events if each["goal"]}
    assert {goal.event_id: goal.conversion_id for goal in goals} == ids
    first: dict[str, Any] = {}
    for goal in sorted(goals, key=lambda goal: (goal.converted_at, goal.event_id)):
        first.setdefault(goal.conversion_id, goal)
    assert_rows(first.values(), gold.conversions)


def assert_minutes(minutes: list[Any], gold: Gold) -> None:
    """Summed over visitors, minutes equal those of gold.traffic, by channel and overall.

    Conversions of servers are left out: minutes of a visitor's events do not have them.
    """
    measures = ("events", "page_views", "sessions", "impressions", "clicks", "searches")
    found: dict[tuple[int, str | None], Counter[str]] = defaultdict(Counter)
    for row in minutes:
        for channel in {row.channel, None}:
            found[row.minute, channel].update({name: getattr(row, name) for name in measures})
    wanted = {
        (row["window_start"], row["channel"]): {name: row[name] for name in measures}
        for row in Windows(gold, [], []).traffic
        if row["window_end"] - row["window_start"] == MINUTE and row["events"]
    }
    assert {key: dict(counts) for key, counts in found.items()} == wanted


@settings(max_examples=1_000, deadline=None)
@given(STORIES)
def test_row_changes_exactly_when_watermark_reaches_due_time(story: Story) -> None:
    for visitor, theirs in by_visitor(story.events).items():
        events, watermark = to_events(theirs), min(map(itemgetter("event_time"), theirs))
        while due := [
            row.due_at
            for row in all_rows(fold_history(visitor, events, RULES, watermark))
            if row.due_at is not None
        ]:
            rows = all_rows(fold_history(visitor, events, RULES, watermark))
            assert all_rows(fold_history(visitor, events, RULES, min(due) - 1)) == rows
            watermark = min(due)
            after = all_rows(fold_history(visitor, events, RULES, watermark))
            changed = [new != old for new, old in zip(after, rows, strict=True)]
            assert changed == [row.due_at == watermark for row in rows]
        assert all_rows(fold_history(visitor, events, RULES, 10**18)) == all_rows(
            fold_history(visitor, events, RULES, watermark)
        )
