"""Generated searches, result lists and clicks: in batches, late by minutes or years."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from folds.visitors.results import SearchEvent
from kit.oracle_wire import DAY, MINUTE, SECOND, Fields
from kit.visitor_stories import NOON, Story

BATCHES = 3
_STEPS = (0, 0, 1, SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE - 1, 10 * MINUTE, 400 * DAY)
_LISTS = st.sampled_from(
    (None, None, ["a"], ["a", "b"], ["b", "a", "b"], ["a", None, "a"], [None], ["c", "b", "a"])
)
_ROLES = ("search", "search", "results", "results", "result_click", "result_click")
_QUERIES = (None, "boots", "boots", "shoes")
_SEARCH_IDS = (None, None, "1", "1", "2")


@st.composite
def _fields(draw: st.DrawFn) -> Fields:
    role = draw(st.sampled_from(_ROLES))
    fields: Fields = dict.fromkeys(("query", "search_id", "product_id", "shown_products"))
    if role == "result_click":
        return {**fields, "role": role, "product_id": draw(st.sampled_from(("a", "b", "c", None)))}
    query, search_id = draw(st.sampled_from(_QUERIES)), draw(st.sampled_from(_SEARCH_IDS))
    if role == "results" and query is None and search_id is None:
        query = "boots"
    return {**fields, "role": role, "query": query, "search_id": search_id, "shown_products": draw(_LISTS)}


_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(_STEPS),
        st.sampled_from("aaab"),
        _fields(),
        st.integers(0, 9),
        st.integers(0, BATCHES - 1),
    ),
    min_size=1,
    max_size=12,
)
_AHEAD = st.tuples(*[st.sampled_from((0, 0, 10 * MINUTE, 20 * MINUTE, 500 * DAY))] * BATCHES)


def _build(steps: list[tuple[Any, ...]], ahead: tuple[int, ...]) -> Story:
    batches: list[list[Fields]] = [[] for _ in range(BATCHES)]
    at = NOON
    for number, (step, visitor, fields, uid, batch) in enumerate(steps):
        at += step
        batches[batch].append(
            {"event_id": f"{uid}{number}", "visitor_id": visitor, "event_time": at, "type": "track", **fields}
        )
    return Story(tuple(map(tuple, batches)), ahead)


RESULT_STORIES = st.builds(_build, _EVENTS, _AHEAD)


def to_search_events(fields: Iterable[Fields]) -> list[SearchEvent]:
    """The events as input of the fold."""
    return [SearchEvent(**{name: each[name] for name in SearchEvent._fields}) for each in fields]
