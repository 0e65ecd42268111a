"""Windows at every trigger firing against the oracle by order of arrival: values, pane, revision."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from folds.windows.revisions import Progress, Sums, WindowKey, WindowRow, revise
from folds.windows.window_rules import Trigger, WindowRule, WindowRules, windows_of
from kit.oracle_arrival import MINUTE, ArrivalOracle, Arrived, Batch, Key, Line, Published
from kit.window_minutes import VisitorMinute, differences_of

LINES = {
    "1 minute": Line(1, 1),
    "hopping": Line(10, 5),
    "by count": Line(10, 10, trigger_events=3),
    "by time": Line(10, 10, trigger_every=4),
    "as published": Line(10, 10, lateness="count"),
    "both": Line(10, 5, trigger_events=2, lateness="count"),
}
SHOWN = ("events", "visitors", "value", "pane", "revision", "is_complete", "late_events")


def rule_of(line: Line) -> WindowRule:
    trigger = None
    if line.trigger_events or line.trigger_every:
        every = timedelta(minutes=line.trigger_every) if line.trigger_every else None
        trigger = Trigger(events=line.trigger_events, every=every)
    size, slide = (timedelta(minutes=each) for each in (line.size, line.slide))
    return WindowRule(size=size, slide=slide, trigger=trigger, lateness=line.lateness)


class Folded:
    """gold.visitor_minutes and gold.traffic as publish keeps them, in memory."""

    def __init__(self, lines: dict[str, Line]) -> None:
        self.rules: WindowRules = {kind: rule_of(line) for kind, line in lines.items()}
        self.minutes: list[tuple[Arrived, bool]] = []
        self.table: dict[WindowKey, WindowRow] = {}
        self.watermark = 0

    def take(self, batch: Batch) -> None:
        known = len(self.minutes)
        self.minutes += [(row, True) for row in batch.arrived]
        gone = [row for row, _ in self.minutes if row.visitor in batch.bots]
        self.minutes += [(row._replace(events=-row.events, value=-row.value), False) for row in gone]
        progress = Progress(self.watermark, batch.watermark)
        for before, after in revise(self.table.values(), self._differences(known), progress, self.rules):
            if before:
                assert self.table.pop(WindowKey(*before[:4])) == before
            if after:
                self.table[WindowKey(*after[:4])] = after
        self.watermark = batch.watermark

    def _differences(self, known: int) -> dict[WindowKey, Sums]:
        minutes = [VisitorMinute(*row, by_events=by_events) for row, by_events in self.minutes]
        return differences_of(minutes, known, windows_of(self.rules, "UTC"))

    @property
    def published(self) -> dict[Key, Published]:
        return {
            (row.window_kind, row.window_start, row.channel): Published(
                *(getattr(row, name) for name in SHOWN)
            )
            for row in self.table.values()
            if row.pane is not None
        }


rows = st.builds(
    Arrived,
    st.sampled_from(["ann", "ben", "cid"]),
    st.integers(0, 40).map(lambda minute: minute * MINUTE),
    st.sampled_from([None, "Direct", "Email"]),
    st.integers(1, 3),
    st.decimals(-9, 9, places=2),
)


@st.composite
def stories(draw: st.DrawFn) -> list[Batch]:
    """Micro-batches: events of any lateness, a visitor that turns out to be a bot, a watermark that grows."""
    bots: set[str] = set()
    marks = sorted(draw(st.lists(st.integers(0, 60), min_size=1, max_size=6)))
    found = []
    for mark in marks:
        arrived = [row for row in draw(st.lists(rows, max_size=4)) if row.visitor not in bots]
        new = set(draw(st.sets(st.sampled_from(["ann", "ben"]), max_size=1))) - bots if found else set()
        bots |= new
        arrived = [row for row in arrived if row.visitor not in bots]
        found.append(Batch(arrived, frozenset(new), mark * MINUTE + 30_000_000))
    return found


@settings(max_examples=40)
@given(stories())
def test_windows_match_oracle_after_each_batch(story: Sequence[Batch]) -> None:
    oracle, folded = ArrivalOracle(LINES), Folded(LINES)
    for batch in story:
        oracle.take(batch)
        folded.take(batch)
        assert folded.published == oracle.published


CASES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("panes.yml").read_text())


@pytest.mark.parametrize("name", CASES)
def test_window_panes_match_hand_written_case(name: str) -> None:
    case = CASES[name]
    options = {"size": 10, "slide": 10, **case.get("line", {})}
    lines = {"window": Line(**options)}
    oracle, folded = ArrivalOracle(lines), Folded(lines)
    for step in case["batches"]:
        arrived = [
            Arrived(
                each["who"],
                each["minute"] * MINUTE,
                each.get("channel", "Direct"),
                each.get("events", 1),
                Decimal(0),
            )
            for each in step.get("events", ())
        ]
        batch = Batch(arrived, frozenset(step.get("bots", ())), step["watermark"] * MINUTE)
        for both in (oracle, folded):
            both.take(batch)
        for published in (oracle.published, folded.published):
            row = published.get(("window", 0, None))
            shown = None if row is None else {key: getattr(row, key) for key in step["shows"]}
            assert shown == step["shows"]
            channels = {key[2]: row.events for key, row in published.items() if key[1] == 0 and key[2]}
            assert channels == step.get("channels", channels)
