"""Admission: whether events are taken, shed or refused, by load and by the source's settings."""

from dataclasses import dataclass, field
from enum import Enum

from intake.sources import Overload, Source

_UNRESERVED = 0.5
"""Share of a budget beyond which it is reserved for protected sources."""


class Decision(Enum):
    """What is done with the events of a request."""

    TAKE = "take"
    SHED = "shed"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Load:
    """Shares of the budgets that are used, 0 to 1.

    Args:
        queued: of memory.
        logged: of what may wait for Kafka in the log.
        shed: of what may be set aside in the log.
    """

    queued: float = 0.0
    logged: float = 0.0
    shed: float = 0.0

    @property
    def is_above_reserve(self) -> bool:
        """Whether so much waits that the rest of a budget is reserved for protected sources."""
        return max(self.queued, self.logged) > _UNRESERVED


@dataclass
class TokenBucket:
    """A limit of events per second that lets a second's worth pass at once.

    Args:
        per_second: the limit.
    """

    per_second: float
    _tokens: float = field(init=False)
    _at: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._tokens = self.per_second

    def has_room(self, now: float) -> bool:
        """Whether a request may pass.

        Args:
            now: seconds of a clock that never goes back.
        """
        passed = 0.0 if self._at is None else now - self._at
        self._at = now
        self._tokens = min(self._tokens + passed * self.per_second, self.per_second)
        return self._tokens > 0

    def take(self, events: int) -> None:
        """Count events that passed. A debt of more than a second is forgotten."""
        self._tokens = max(self._tokens - events, -self.per_second)


class Admission:
    """Decides on requests.

    Args:
        capacity: events per second that the node takes on; None for no limit.
    """

    def __init__(self, capacity: float | None = None) -> None:
        self._capacity = TokenBucket(capacity) if capacity else None
        self._limits: dict[str, TokenBucket] = {}

    def decide(
        self, source: Source, events: int, load: Load, now: float, *, has_reserve: bool = True
    ) -> Decision:
        """Decide on a request of a source.

        A source's own limit holds always. Protected sources are taken as long as there is any room. Others
        are shed or refused beyond the node's capacity, and once half of a budget is used, where the rest is
        reserved for protected sources.

        Args:
            source: who sends.
            events: how many.
            load: of the node.
            now: seconds of a clock that never goes back.
            has_reserve: whether any source is protected.
        """
        limit = self._limit(source)
        if limit and not limit.has_room(now):
            return Decision.REFUSE
        is_beyond = self._capacity is not None and not self._capacity.has_room(now)
        is_busy = load.is_above_reserve
        decision = Decision.TAKE
        if (is_beyond or is_busy) and not source.protected:
            if source.overload is Overload.SHED and load.shed < 1:
                decision = Decision.SHED
            elif is_beyond or has_reserve:
                decision = Decision.REFUSE
        if limit and decision is not Decision.REFUSE:
            limit.take(events)
        if self._capacity and decision is Decision.TAKE:
            self._capacity.take(events)
        return decision

    def _limit(self, source: Source) -> TokenBucket | None:
        if source.events_per_second is None:
            return None
        known = self._limits.get(source.name)
        if known is None or known.per_second != source.events_per_second:
            known = self._limits[source.name] = TokenBucket(source.events_per_second)
        return known
