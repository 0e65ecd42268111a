"""The rule of offers: which clicks count, which offer a click belongs to, and what came of the offer.

An offer is what was put before a visitor: a promotion (an impression), or the results of a search.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

CLICKED, UNCLICKED, OPEN, ORPHAN = "clicked", "unclicked", "open", "orphan"
Moment = tuple[datetime, str]  # of an event: its time, its UID


@dataclass(frozen=True)
class OfferRule:
    """How one kind of offer and its clicks go together.

    Args:
        offer: role of the offer.
        click: role of its clicks.
        within: a click this long or longer after the offer does not belong to it.
        pause: a click counts if it comes this long or longer after the last counted one.
    """

    offer: str
    click: str
    within: timedelta
    pause: timedelta

    @property
    def reach(self) -> timedelta:
        """An offer or orphan this far or farther behind a moment is not changed by what comes from then on.

        Its counted clicks are less than `within` after it, so the last one is more than a pause back.
        """
        return self.within + self.pause

    def counted(self, clicks: Iterable[Moment]) -> list[Moment]:
        """The clicks that count, of one visitor's clicks on one thing."""
        kept: list[Moment] = []
        for click in sorted(clicks):
            if not kept or click[0] - kept[-1][0] >= self.pause:
                kept.append(click)
        return kept

    def offer_of(self, click: Moment, offers: Iterable[Moment]) -> Moment | None:
        """The latest offer that a click may belong to; None for an orphan."""
        before = (offer for offer in offers if offer[0] <= click[0] < offer[0] + self.within)
        return max(before, default=None)

    def outcome(self, offered_at: datetime, clicks: int, watermark: datetime) -> str:
        """What came of an offer with so many counted clicks."""
        if clicks:
            return CLICKED
        return UNCLICKED if watermark >= offered_at + self.within else OPEN


IMPRESSIONS = OfferRule("impression", "click", timedelta(minutes=30), timedelta(seconds=10))
SEARCHES = OfferRule("search", "result_click", timedelta(minutes=10), timedelta(0))
