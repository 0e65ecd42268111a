"""The position of the pages follows changes that are in no window."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gold.traffic.windows import Traffic
from kit.records import NOON
from lakehouse.contracts.daily import CAMPAIGN_PERFORMANCE
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.timestamps import to_micros

CONF = Path(__file__).resolve().parents[3] / "conf"
LATER = NOON + timedelta(hours=1)
PROGRESS = {"minutes": 7, "watermark": 5, "windows": "{}", "ends": "{}", "summarized": 6}


class Lake:
    """Last commits of publish by table; commits to gold.traffic are its only writes."""

    def __init__(self, marks: Mapping[str, datetime]) -> None:
        self.marks = dict(marks)
        self.commits: list[tuple[datetime, Mapping[str, Any]]] = []
        settings: Any = SimpleNamespace(set=lambda *_: None, unset=lambda *_: None)
        self.spark = SimpleNamespace(conf=settings)

    def high_water_mark(self, name: str) -> datetime | None:
        return self.marks.get(name)

    def last_commit(self, name: str) -> Mapping[str, Any]:
        return {**PROGRESS, "upto": to_micros(self.marks[name])}

    def append(self, name: str, rows: Any, upto: datetime, **metadata: Any) -> None:
        assert (name, len(rows)) == (TRAFFIC.name, 0)
        self.marks[name] = upto
        self.commits.append((upto, metadata))


def advance(marks: Mapping[str, datetime], upto: datetime) -> list[tuple[datetime, Mapping[str, Any]]]:
    """Commits to gold.traffic, when a summary update ends twice, as after an interruption."""
    lake: Any = Lake(marks)
    for _ in range(2):
        Traffic(lake, "UTC", CONF).advance(upto)
    return lake.commits


@pytest.mark.parametrize("table", [CAMPAIGN_PERFORMANCE, CONVERSION_ITEMS])
def test_position_follows_a_summary_without_new_windows(table: Any) -> None:
    marks = {TRAFFIC.name: NOON, VISITOR_MINUTES.name: NOON, table.name: LATER}
    assert advance(marks, LATER) == [(LATER, PROGRESS)]


def test_update_that_changes_nothing_leaves_the_position() -> None:
    assert advance({TRAFFIC.name: NOON, CAMPAIGN_PERFORMANCE.name: NOON}, LATER) == []


def test_position_does_not_go_back() -> None:
    assert advance({TRAFFIC.name: NOON, CAMPAIGN_PERFORMANCE.name: LATER}, NOON) == []
