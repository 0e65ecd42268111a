"""Counted clicks: which clicks count, and which exposure each belongs to.

A click that follows the last counted one too soon is a nervous finger.
"""

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple, TypeVar

from folds.visitors.rules import ExposureRule


class Piece(NamedTuple):
    """An exposure or a click. Sorted by time, then clicks last, then UID, pieces are in order."""

    at: int
    is_click: bool
    event_id: str


class SearchPiece(NamedTuple):
    """A search, which has a query, or a click on a result, which has a product; in the same order."""

    at: int
    is_click: bool
    event_id: str
    query: str | None
    product_id: str | None


P = TypeVar("P", Piece, SearchPiece)


def assign_clicks(pieces: Iterable[P], rule: ExposureRule) -> Iterator[tuple[P, P, bool]]:
    """Bring each counted click to its exposure.

    A counted click belongs to the latest exposure whose span it comes in; without one it is an orphan. A
    click that does not count goes where the counted one before it goes.

    Args:
        pieces: exposures and clicks of one visitor, for impressions those of one promotion, in any order.
            All from some time on that no earlier one reaches beyond: see `ExposureRule.reach`.
        rule: of exposures of this kind.

    Yields:
        Each piece in order; the exposure or orphan that it goes to; whether it is a counted click.
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
