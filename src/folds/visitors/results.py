"""Shown results: the products that each search showed, in order, and which of them were clicked.

The rows of a search depend only on the visitor's events within the search span, which starts with the search.
They are recomputed from these events when a new one arrives, so the order and batching of events do not
matter.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from folds.visitors.exposures import CLICKED, OPEN, UNCLICKED
from folds.visitors.rules import ExposureRule
from folds.visitors.spans import Span, is_within

SEARCH, RESULTS, RESULT_CLICK = RESULT_ROLES = ("search", "results", "result_click")


class SearchEvent(NamedTuple):
    """Columns of silver.events that the search rules read."""

    event_id: str
    role: str
    event_time: int
    query: str | None
    search_id: str | None
    product_id: str | None
    shown_products: Sequence[str | None] | None


class ShownResult(NamedTuple):
    """A row of silver.search_results. `due_at`: the watermark that changes it; None if there is none."""

    search_event_id: str
    visitor_id: str
    query: str | None
    event_time: int
    rank: int
    product_id: str | None
    outcome: str
    first_click_at: int | None
    is_open: bool
    due_at: int | None


@dataclass(slots=True)
class _Search:
    """A search while its results and clicks are collected.

    Args:
        event: the search.
        place: position among the visitor's searches, in order.
        results: the first results event that belongs to it.
        clicked: time of the first click, by product.
    """

    event: SearchEvent
    place: int
    results: SearchEvent | None = None
    clicked: dict[str, int] = field(default_factory=dict)

    def shown(self) -> Sequence[str | None]:
        """The products by rank: from the search itself if it lists any, else from its results."""
        return self.event.shown_products or (self.results and self.results.shown_products) or ()

    def first_clicks(self) -> Iterable[tuple[str | None, int | None]]:
        """Each shown product and its first click time; a repeated product has it only at its first rank."""
        left = dict(self.clicked)
        return [(product, left.pop(product, None) if product else None) for product in self.shown()]


class _Latest:
    """The latest search so far: of all searches, by `search_id` and by query.

    Args:
        span: a search this long or longer ago is ignored.
    """

    def __init__(self, span: int) -> None:
        self._span = span
        self._found: dict[tuple[str, str | None], _Search] = {}

    def add(self, search: _Search) -> None:
        """Add a search that is later than all searches before."""
        query, search_id = search.event.query, search.event.search_id
        kinds = [("any", None), ("query", query), ("search_id", search_id)]
        if search_id is None:
            kinds.append(("query without search_id", query))
        self._found.update((kind, search) for kind in kinds)

    def of_results(self, results: SearchEvent) -> _Search | None:
        """The latest search with the same `search_id`; if one of the two has none, with the same query."""
        if results.search_id is None:
            return self._within_span(results, ("query", results.query))
        kinds = (("search_id", results.search_id), ("query without search_id", results.query))
        found = [search for kind in kinds if (search := self._within_span(results, kind))]
        return max(found, key=lambda search: search.place, default=None)

    def of_click(self, click: SearchEvent) -> _Search | None:
        """The latest search, which a click on a result belongs to."""
        return self._within_span(click, ("any", None))

    def _within_span(self, event: SearchEvent, kind: tuple[str, str | None]) -> _Search | None:
        if kind[0] != "any" and kind[1] is None:
            return None
        found = self._found.get(kind)
        return found if found and event.event_time - found.event.event_time < self._span else None


def find_results(
    visitor: str, events: Iterable[SearchEvent], spans: Sequence[Span], rule: ExposureRule, watermark: int
) -> list[ShownResult]:
    """Compute the rows of the searches within spans.

    Args:
        visitor: the visitor of the events.
        events: of `RESULT_ROLES`: all from the start of each span, up to `rule.span` after its end; in any
            order.
        spans: in order.
        rule: of searches.
        watermark: decides whether a result without a click is unclicked yet.
    """
    return [
        as_of(_row(visitor, search.event, rank, product, clicked_at), rule, watermark)
        for search in _gather(events, rule.span)
        if is_within(search.event.event_time, spans)
        for rank, (product, clicked_at) in enumerate(search.first_clicks(), 1)
    ]


def as_of(row: ShownResult, rule: ExposureRule, watermark: int) -> ShownResult:
    """Apply a watermark to a row."""
    if row.first_click_at is not None:
        return row._replace(outcome=CLICKED, is_open=False, due_at=None)
    due_at = row.event_time + rule.span
    if watermark >= due_at:
        return row._replace(outcome=UNCLICKED, is_open=False, due_at=None)
    return row._replace(outcome=OPEN, is_open=True, due_at=due_at)


def affected_spans(times: Iterable[int], span: int) -> list[Span]:
    """Spans of the searches that events may change: less than `span` before each event."""
    found: list[Span] = []
    for at in sorted(set(times)):
        low = at - span + 1
        if found and low <= found[-1][1]:
            low, _ = found.pop()
        found.append((low, at + 1))
    return found


def _gather(events: Iterable[SearchEvent], span: int) -> list[_Search]:
    """The searches in order, with their results and clicks."""
    found: list[_Search] = []
    latest = _Latest(span)
    for event in sorted(events, key=_order):
        if event.role == SEARCH:
            found.append(_Search(event, len(found)))
            latest.add(found[-1])
        elif event.role == RESULTS:
            search = latest.of_results(event)
            if search and search.results is None:
                search.results = event
        elif event.product_id is not None and (search := latest.of_click(event)):
            search.clicked.setdefault(event.product_id, event.event_time)
    return found


def _order(event: SearchEvent) -> tuple[int, bool, str]:
    """Sort by time, searches first, then UID: an event at the time of a search belongs to it."""
    return event.event_time, event.role != SEARCH, event.event_id


def _row(
    visitor: str, search: SearchEvent, rank: int, product: str | None, clicked_at: int | None
) -> ShownResult:
    at, query = search.event_time, search.query
    return ShownResult(search.event_id, visitor, query, at, rank, product, OPEN, clicked_at, True, None)
