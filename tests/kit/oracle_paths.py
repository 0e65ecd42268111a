"""Test oracle for channel paths and data-driven attribution models, computed naively.

Shares no code with `src/`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

MONTH_OF_DAYS = timedelta(days=30)
Way = tuple[str, ...]
Span = tuple[datetime, datetime]


class Touch(NamedTuple):
    """A row of gold.touches with the columns needed here."""

    touched_at: datetime
    touch_id: str
    visitor_id: str
    channel: str
    event_id: str = ""


class Conversion(NamedTuple):
    """A row of gold.conversions, not a refund, with the columns needed here."""

    converted_at: datetime
    conversion_id: str
    visitor_id: str
    reporting_value: Decimal | None
    event_id: str = ""


class Identity(NamedTuple):
    """A row of silver.identities with the columns needed here; None: without end on that side."""

    visitor_id: str
    user_id: str
    valid_from: datetime | None = None
    from_event_id: str | None = None
    valid_to: datetime | None = None
    to_event_id: str | None = None

    def contains(self, at: datetime, event_id: str) -> bool:
        """Whether an event at this time, with this UID, is in the span."""
        if self.valid_from is not None and (at, event_id) < (self.valid_from, self.from_event_id):
            return False
        return self.valid_to is None or (at, event_id) < (self.valid_to, self.to_event_id)


@dataclass
class Ends:
    """Outcomes of a path: number of conversions, their value, and number of paths without conversion."""

    conversions: int = 0
    value: Decimal = Decimal(0)
    nulls: int = 0


@dataclass
class World:
    """Touches, conversions, and the users of visitors."""

    touches: list[Touch] = field(default_factory=list)
    conversions: list[Conversion] = field(default_factory=list)
    identities: list[Identity] = field(default_factory=list)

    def paths(self, zone: str, watermark: datetime) -> dict[Span, dict[Way, Ends]]:
        """Paths and their outcomes, by period. Periods without paths are left out."""
        times = [touch.touched_at for touch in self.touches] + [
            each.converted_at for each in self.conversions
        ]
        periods = {month_around(at, zone) for at in times}
        periods = {(start, end) for start, end in periods if start <= watermark}
        periods.add((watermark - MONTH_OF_DAYS, watermark))
        found = {period: self._paths_in(*period) for period in periods}
        return {period: ways for period, ways in found.items() if ways}

    def _paths_in(self, start: datetime, end: datetime) -> dict[Way, Ends]:
        ways: dict[Way, Ends] = defaultdict(Ends)
        for person in {self.person_of(each) for each in [*self.touches, *self.conversions]}:
            touches = sorted(each for each in self.touches if self.person_of(each) == person)
            conversions = sorted(
                (each for each in self.conversions if self.person_of(each) == person),
                key=lambda each: each[:2],
            )
            used = set()
            for number, conversion in enumerate(conversions):
                if not start <= conversion.converted_at < end:
                    continue
                led = led_to(conversion, conversions[number - 1] if number else None, touches)
                used.update(led)
                ends = ways[tuple(touch.channel for touch in led) or ("Direct",)]
                ends.conversions += 1
                ends.value += conversion.reporting_value or 0
            left = [touch for touch in touches if start <= touch.touched_at < end and touch not in used]
            marks = [each.converted_at for each in conversions if start <= each.converted_at < end]
            for gap in gaps(left, marks):
                ways[gap].nulls += 1
        return dict(ways)

    def person_of(self, row: Touch | Conversion) -> str:
        """The person of a touch or conversion at its time and UID."""
        for identity in self.identities:
            if identity.visitor_id == row.visitor_id and identity.contains(row[0], row.event_id):
                return identity.user_id
        return row.visitor_id


def led_to(conversion: Conversion, before: Conversion | None, touches: Iterable[Touch]) -> list[Touch]:
    """The touches on the path to a conversion, in order."""
    return [
        touch
        for touch in touches
        if (before is None or before.converted_at < touch.touched_at)
        and conversion.converted_at - MONTH_OF_DAYS <= touch.touched_at <= conversion.converted_at
    ]


def gaps(touches: Iterable[Touch], marks: Iterable[datetime]) -> list[Way]:
    """Split ordered touches at some times. A touch exactly at a time belongs to the part before it."""
    parts: dict[int, list[str]] = defaultdict(list)
    for touch in touches:
        parts[sum(mark < touch.touched_at for mark in marks)].append(touch.channel)
    return [tuple(part) for part in parts.values()]


def month_around(at: datetime, zone: str) -> Span:
    """The calendar month that contains a time."""
    local = at.astimezone(ZoneInfo(zone))
    start = datetime(local.year, local.month, 1, tzinfo=ZoneInfo(zone))
    following = (local.year + local.month // 12, local.month % 12 + 1)
    end = datetime(*following, 1, tzinfo=ZoneInfo(zone))
    return start.astimezone(timezone.utc), end.astimezone(timezone.utc)


def shapley(ways: Mapping[Way, Ends]) -> dict[str, tuple[float, float]]:
    """Shapley credit by channel: conversions and value of each path, split equally among its channels."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for way, ends in ways.items():
        for channel in set(way):
            sums[channel][0] += ends.conversions / len(set(way))
            sums[channel][1] += float(ends.value) / len(set(way))
    return {channel: (conversions, value) for channel, (conversions, value) in sums.items()}


def markov(ways: Mapping[Way, Ends]) -> dict[str, tuple[float, float]]:
    """Markov credit by channel: conversions and value, in proportion to the removal effect."""
    walks = [(way, ends.conversions, ends.nulls) for way, ends in ways.items()]
    every = walk(walks, without=None)
    lost = {channel: every - walk(walks, without=channel) for way in ways for channel in way}
    total = sum(lost.values())
    conversions = sum(ends.conversions for ends in ways.values())
    value = float(sum(ends.value for ends in ways.values()))
    shares = {channel: loss / total if total else 0.0 for channel, loss in lost.items()}
    return {channel: (share * conversions, share * value) for channel, share in shares.items()}


def walk(walks: Iterable[tuple[Way, float, float]], without: str | None) -> float:
    """The conversion probability of the Markov chain, by iteration; `without` is a removed channel."""
    steps: dict[str, dict[str, float]] = {}
    for way, conversions, nulls in walks:
        for before, after in pairwise(("start", *way)):
            of = steps.setdefault(before, {})
            of[after] = of.get(after, 0) + conversions + nulls
        for end, times in (("converted", conversions), ("null", nulls)):
            of = steps.setdefault(way[-1], {})
            of[end] = of.get(end, 0) + times
    at, converted = {"start": 1.0}, 0.0
    while sum(at.values()) > 1e-12:
        onward: dict[str, float] = {}
        for place, amount in at.items():
            total = sum(steps[place].values())
            for after, times in steps[place].items():
                part = amount * times / total if total else 0
                if after == "converted":
                    converted += part
                elif after not in ("null", without):
                    onward[after] = onward.get(after, 0) + part
        at = onward
    return converted
