"""Test oracle for windows by order of arrival: recounts every window after each micro-batch.

The only state between batches is the published output: rows, panes, revisions.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

MINUTE = 60_000_000


class Arrived(NamedTuple):
    """The activity of a visitor in one minute, with the session's channel."""

    visitor: str
    minute: int
    channel: str | None
    events: int
    value: Decimal


class Batch(NamedTuple):
    """A micro-batch of publish.

    Args:
        arrived: activity from new events.
        bots: newly detected bots. All their activity is removed.
        watermark: the watermark after the batch.
    """

    arrived: Sequence[Arrived]
    bots: frozenset[str]
    watermark: int


class Line(NamedTuple):
    """A line of conf/windows.yml, with spans in minutes. Windows by event count have no size."""

    size: int
    slide: int
    events: int | None = None
    trigger_events: int | None = None
    trigger_every: int | None = None
    lateness: str = "revise"


class Published(NamedTuple):
    """The published row of a window and channel."""

    events: int
    visitors: int
    value: Decimal
    pane: str
    revision: int
    is_complete: bool
    late_events: int | None


Key = tuple[str, int, str | None]


@dataclass
class ArrivalOracle:
    """Publishes windows batch by batch.

    Args:
        lines: the window definitions, by kind.
    """

    lines: dict[str, Line]
    published: dict[Key, Published] = field(default_factory=dict)
    _there: list[Arrived] = field(default_factory=list)
    _waiting: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    _watermark: int = 0
    _bounds: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def take(self, batch: Batch) -> None:
        """Process a micro-batch, and update `published`."""
        before, self._watermark = self._watermark, batch.watermark
        self._there = [*self._there, *batch.arrived]
        everywhere = {key for row in self._there for key in self._keys(row)}
        self._there = [row for row in self._there if row.visitor not in batch.bots]
        self._close()
        everywhere |= {key for row in self._there for key in self._keys(row)}
        over = {key[:2] for key, row in self.published.items() if row.pane != "early"}
        for key in everywhere | self.published.keys() | self._waiting.keys():
            arrived = [row for row in batch.arrived if key in self._keys(row)]
            self._waiting[key] += sum(row.events for row in arrived)
            if self.lines[key[0]].lateness == "count" and key[:2] in over:
                self._count_beside(key, self._waiting.pop(key))
            elif self._is_over(key) or self._fires(key, before):
                self._publish(key, bool(arrived))

    def _keys(self, row: Arrived) -> set[Key]:
        """The windows that contain a row, overall and for its channel."""
        found: set[Key] = set()
        for kind, line in self.lines.items():
            if line.events is not None:
                bounds = [0, *self._bounds[kind]]
                starts = [start for start, end in pairwise(bounds) if start <= row.minute < end]
                found |= {(kind, start, channel) for start in starts for channel in (None, row.channel)}
                continue
            start = row.minute // (line.slide * MINUTE) * line.slide * MINUTE
            while start > row.minute - line.size * MINUTE:
                found |= {(kind, start, channel) for channel in (None, row.channel)}
                start -= line.slide * MINUTE
        return found

    def _close(self) -> None:
        """Close windows by event count, up to the watermark."""
        for kind, line in self.lines.items():
            bounds, events = self._bounds[kind], 0
            rows = [row for row in self._there if not bounds or row.minute >= bounds[-1]]
            for minute in sorted({row.minute for row in rows}):
                if line.events is None or minute + MINUTE > self._watermark:
                    break
                bounds += [] if bounds else [minute]
                events += sum(row.events for row in rows if row.minute == minute)
                if events >= line.events:
                    bounds.append(minute + MINUTE)
                    events = 0

    def _is_over(self, key: Key) -> bool:
        if self.lines[key[0]].events is not None:
            return True
        return key[1] + self.lines[key[0]].size * MINUTE <= self._watermark

    def _count_beside(self, key: Key, late: int) -> None:
        """Count late events of a window that stays as published; a channel without a row gets none."""
        if last := self.published.get(key):
            self.published[key] = last._replace(late_events=(last.late_events or 0) + max(0, late))

    def _fires(self, key: Key, before: int) -> bool:
        line = self.lines[key[0]]
        if line.trigger_events is not None:
            return self._waiting[key] >= line.trigger_events
        if line.trigger_every is not None:
            step = line.trigger_every * MINUTE
            passed = [at for at in range(0, self._watermark + 1, step) if before < at]
            return bool(passed)
        return True

    def _publish(self, key: Key, by_events: bool) -> None:
        self._waiting.pop(key, None)
        rows = [row for row in self._there if key in self._keys(row)]
        if not rows:
            self.published.pop(key, None)
            return
        last, is_over = self.published.get(key), self._is_over(key)
        now = (
            sum(row.events for row in rows),
            len({row.visitor for row in rows}),
            sum((row.value for row in rows), Decimal(0)),
        )
        differs = last is None or last[:3] != now
        pane = "early"
        if is_over and (last is None or last.pane == "early"):
            pane = "on_time"
        elif is_over and last is not None:
            pane = "late" if differs and by_events else last.pane
        revision = 0 if last is None else last.revision + differs
        late = 0 if is_over and self.lines[key[0]].lateness == "count" else None
        self.published[key] = Published(*now, pane, revision, is_over, late)
