"""Admission control: takes, sheds or refuses events, by load and by the source's settings."""

from dataclasses import dataclass, field
from enum import Enum

from intake.sources import Overload, Source

_UNRESERVED = 0.5
"""Share of a budget beyond which it is reserved for protected sources."""


class Decision(Enum):
    """Whether the events of a request are taken, shed or refused."""

    TAKE = "take"
    SHED = "shed"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Load:
    """The used share of each budget, 0 to 1.

    Args:
        queued: share of the memory for queued requests.
        logged: share of the log that may hold messages for Kafka.
        shed: share of the log that may hold shed messages.
    """

    queued: float = 0.0
    logged: float = 0.0
    shed: float = 0.0

    @property
    def is_above_reserve(self) -> bool:
        """Whether more than half of a budget is used: the rest is reserved for protected sources."""
        return max(self.queued, self.logged) > _UNRESERVED


@dataclass
class TokenBucket:
    """A limit of events per second, with bursts of up to one second's events.

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
            now: time of a monotonic clock (s).
        """
        passed = 0.0 if self._at is None else now - self._at
        self._at = now
        self._tokens = min(self._tokens + passed * self.per_second, self.per_second)
        return self._tokens > 0

    def take(self, events: int) -> None:
        """Subtract events that passed. The debt is at most one second's events."""
        self._tokens = max(self._tokens - events, -self.per_second)


class Admission:
    """Decides whether requests are taken, shed or refused.

    Args:
        capacity: maximum events per second of this node; None for no limit.
    """

    def __init__(self, capacity: float | None = None) -> None:
        self._capacity = TokenBucket(capacity) if capacity else None
        self._limits: dict[str, TokenBucket] = {}

    def decide(
        self, source: Source, events: int, load: Load, now: float, *, has_reserve: bool = True
    ) -> Decision:
        """Decide on a request of a source.

        Each source's own limit always applies. Events of protected sources are taken while there is room.
        Other events are shed or refused beyond the node's capacity, and while more than half of a budget is
        used if the rest is reserved for protected sources.

        Args:
            source: the sender.
            events: number of events.
            load: load of this node.
            now: time of a monotonic clock (s).
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
