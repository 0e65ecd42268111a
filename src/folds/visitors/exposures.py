"""Exposures: impressions with clicks on promotions, searches with clicks on results.

A row keeps the events that it was built from. Joining these with new events gives the same rows as building
them from all events at once, so the order and batching of events do not matter.
"""

from collections.abc import Iterable
from typing import Generic, NamedTuple

from folds.visitors.clicks import P, Piece, SearchPiece, assign_clicks
from folds.visitors.events import Event
from folds.visitors.rules import ExposureRule

CLICKED, UNCLICKED, OPEN, ORPHAN = "clicked", "unclicked", "open", "orphan"


class Impression(NamedTuple):
    """A row of silver.impressions. `due_at`: the next watermark that changes it; None if there is none."""

    event_id: str
    visitor_id: str
    promotion_id: str | None
    event_time: int
    outcome: str
    first_click_at: int | None
    clicks: int
    is_open: bool
    due_at: int | None
    made_of: list[Piece]


class Search(NamedTuple):
    """A row of silver.searches. `due_at`: the next watermark that changes it; None if there is none."""

    event_id: str
    visitor_id: str
    query: str | None
    event_time: int
    outcome: str
    first_click_at: int | None
    clicks: int
    clicked_products: list[str]
    is_open: bool
    due_at: int | None
    made_of: list[SearchPiece]


class _Exposure(Generic[P]):
    """An exposure or orphan while its clicks are collected."""

    __slots__ = ("clicks", "first_click_at", "made_of")

    def __init__(self) -> None:
        self.clicks = 0
        self.first_click_at: int | None = None
        self.made_of: list[P] = []

    def add(self, piece: P, counts: bool) -> None:
        self.made_of.append(piece)
        if counts:
            self.clicks += 1
            if self.first_click_at is None:
                self.first_click_at = piece.at


def impression_piece(event: Event) -> Piece:
    """Convert an impression, or a click on a promotion, to a piece."""
    return Piece(event.event_time, event.role == "click", event.event_id)


def search_piece(event: Event) -> SearchPiece:
    """Convert a search, or a click on a result, to a piece."""
    if event.role == "search":
        return SearchPiece(event.event_time, False, event.event_id, event.query, None)
    return SearchPiece(event.event_time, True, event.event_id, None, event.product_id)


def join_impressions(
    visitor: str, promotion: str | None, pieces: Iterable[Piece], rule: ExposureRule, watermark: int
) -> list[Impression]:
    """Build a visitor's impressions of one promotion, and orphan clicks on it.

    Args:
        visitor: the visitor.
        promotion: the promotion.
        pieces: of events and of existing rows, in any order: see `assign_clicks`.
        rule: of impressions.
        watermark: decides which rows are open, and whether an impression without clicks is unclicked yet.
    """
    return [
        Impression(
            head.event_id,
            visitor,
            promotion,
            head.at,
            outcome,
            found.first_click_at,
            found.clicks,
            watermark < head.at + rule.reach,
            _due_at(head.at, outcome, rule, watermark),
            found.made_of,
        )
        for head, outcome, found in _gather(pieces, rule, watermark)
    ]


def join_searches(
    visitor: str, pieces: Iterable[SearchPiece], rule: ExposureRule, watermark: int
) -> list[Search]:
    """Build a visitor's searches, and orphan clicks on results; see `join_impressions`."""
    return [
        Search(
            head.event_id,
            visitor,
            head.query,
            head.at,
            outcome,
            found.first_click_at,
            found.clicks,
            [each.product_id for each in found.made_of if each.product_id is not None],
            watermark < head.at + rule.reach,
            _due_at(head.at, outcome, rule, watermark),
            found.made_of,
        )
        for head, outcome, found in _gather(pieces, rule, watermark)
    ]


def _gather(pieces: Iterable[P], rule: ExposureRule, watermark: int) -> list[tuple[P, str, _Exposure[P]]]:
    """Collect each exposure and orphan in order, with its outcome and its clicks."""
    rows: dict[P, _Exposure[P]] = {}
    for piece, head, counts in assign_clicks(pieces, rule):
        if piece is head:
            rows[head] = _Exposure()
        rows[head].add(piece, counts)
    return [(head, _outcome(head, found.clicks, rule, watermark), found) for head, found in rows.items()]


def _outcome(head: P, clicks: int, rule: ExposureRule, watermark: int) -> str:
    if head.is_click:
        return ORPHAN
    if clicks:
        return CLICKED
    return UNCLICKED if watermark >= head.at + rule.span else OPEN


def _due_at(at: int, outcome: str, rule: ExposureRule, watermark: int) -> int | None:
    """The next watermark at which `outcome` or `is_open` changes."""
    if watermark >= at + rule.reach:
        return None
    return at + (rule.span if outcome == OPEN else rule.reach)
