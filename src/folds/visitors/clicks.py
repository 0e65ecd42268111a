"""Counted clicks: decides which clicks count, and which exposure each click belongs to.

A click too soon after the last counted one is an accidental repeat and does not count.
"""

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple, TypeVar

from folds.visitors.rules import ExposureRule


class Piece(NamedTuple):
    """An exposure or a click. Pieces are ordered by time, then exposures before clicks, then UID."""

    at: int
    is_click: bool
    event_id: str


class SearchPiece(NamedTuple):
    """A search, which has a query, or a click on a result, which has a product; ordered like `Piece`."""

    at: int
    is_click: bool
    event_id: str
    query: str | None
    product_id: str | None


P = TypeVar("P", Piece, SearchPiece)


def assign_clicks(pieces: Iterable[P], rule: ExposureRule) -> Iterator[tuple[P, P, bool]]:
    """Assign each click to an exposure.

    A counted click belongs to the latest exposure if it is within that exposure's span; otherwise it is an
    orphan. A click that does not count is assigned like the counted click before it.

    Args:
        pieces: exposures and clicks of one visitor, for impressions those of one promotion, in any order.
            They are all pieces from a time on that no earlier piece affects: see `ExposureRule.reach`.
        rule: of exposures of this kind.

    Yields:
        Each piece in order, the exposure or orphan that it belongs to, and whether it is a counted click.
    """
    exposure = head = None
    counted_at: int | None = None
    for piece in sorted(pieces, key=itemgetter(0, 1, 2)):
        if not piece.is_click:
            exposure = piece
            yield piece, piece, False
        elif head is None or counted_at is None or piece.at - counted_at >= rule.pause:
            counted_at = piece.at
            head = exposure if exposure and piece.at - exposure.at < rule.span else piece
            yield piece, head, True
        else:
            yield piece, head, False
