"""View-through after late events: recomputing the affected spans equals recomputing everything."""

from hypothesis import HealthCheck, given, settings

from folds.rule_numbers import RuleNumbers
from folds.visitors.continued_spans import sessions_after
from folds.visitors.events import Event
from folds.visitors.fold import IMPRESSION_ROLES, find_credit_inputs
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session
from folds.visitors.spans import is_within, spans_of_all, stretches_of
from folds.visitors.touches import Touch
from folds.visitors.view_spans import Landing, spans_before, visits_after
from kit.histories import fold_history
from kit.oracle_wire import MINUTE
from kit.visitor_stories import NOON, STORIES, Story, event, to_events

RULES = VisitorRules.of(RuleNumbers())
SPAN = RULES.promotions.view_span


def landings(sessions: list[Session]) -> list[Landing]:
    return [
        Landing(
            each.started_at, each.continues is None and (each.campaign_name, each.campaign_id) != (None, None)
        )
        for each in sessions
    ]


def recompute_touches(touches: set[Touch], new: list[Event], events: list[Event]) -> set[Touch]:
    """Touches after new events, which are among all events, recomputed by spans as publish does."""
    rows = fold_history("a", events, RULES, NOON)
    sessions, known = list(rows.sessions), {"a": landings(list(rows.sessions))}
    exposed = [[piece.at for piece in row.made_of] for row in rows.impressions]
    bounds = {
        "a": stretches_of(
            [
                *((each.started_at, each.ended_at) for each in sessions),
                *((min(at), max(at)) for at in exposed),
            ],
            RULES.session_gap,
        )
    }
    moments = [each.event_time for each in new]
    changed = spans_of_all({"a": moments}, bounds)
    times = moments + visits_after(changed, known, SPAN).get("a", [])
    times += sessions_after(changed, {"a": sessions}).get("a", [])
    spans = spans_of_all({"a": times}, bounds)["a"]
    behind = spans_before({"a": spans}, known, bounds, SPAN).get("a", [])
    inside = [each for each in events if is_within(each.event_time, spans)]
    earlier = [
        each
        for each in events
        if each.role in IMPRESSION_ROLES and is_within(each.event_time, behind) and each not in inside
    ]
    here = [each for each in sessions if is_within(each.started_at, spans)]
    found = find_credit_inputs("a", inside, here, RULES, earlier).touches
    return {touch for touch in touches if not is_within(touch.touched_at, spans)} | set(found)


@settings(max_examples=1_500, deadline=None, suppress_health_check=list(HealthCheck))
@given(STORIES)
def test_touches_recomputed_by_batch_equal_touches_of_all_events(story: Story) -> None:
    touches: set[Touch] = set()
    so_far: list[Event] = []
    for batch in story.batches:
        new = [each for each in to_events(batch) if each.visitor_id == "a"]
        so_far += new
        if new:
            touches = recompute_touches(touches, new, so_far)
    sessions = fold_history("a", so_far, RULES, NOON).sessions
    assert touches == set(find_credit_inputs("a", so_far, sessions, RULES).touches)


def test_late_impression_and_click_change_view_of_next_day_visit() -> None:
    seen = {"type": "track", "role": "impression", "promotion_id": "p"}
    landing = to_events([event(NOON, "a", "landing", url="/", campaign_name="p")])
    impression = to_events([event(NOON - 23 * 60 * MINUTE, "a", "seen", **seen)])
    click = to_events([event(NOON - 60 * MINUTE, "a", "click", **{**seen, "role": "click"})])
    touches = recompute_touches(set(), landing, landing)
    views = []
    for new in (impression, click):
        landing += new
        touches = recompute_touches(touches, new, landing)
        (visit,) = (touch for touch in touches if touch.event_id == "landing")
        views.append(visit.view and visit.view.event_id)
    assert views == ["seen", None]
