"""Test cases written as YAML (see tests/silver/late.yml)."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import yaml

from kit.records import NOON, Record, heartbeat, instant, message, record

DELAY = timedelta(minutes=10)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TODAY = f"{NOON:%Y-%m-%dT}"
Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Case:
    """A test case. Its ids have a prefix, so that many cases can share tables."""

    name: str
    prefix: str
    watermarks: tuple[str, ...]
    batches: tuple[tuple[str, ...], ...]
    expect: dict[str, Rows] = field(hash=False)
    must_fail: bool = False

    def records(self, batch: int) -> list[Record]:
        """The records of one batch.

        Raises:
            AssertionError: if an event would move the watermark beyond that of the batch.
        """
        for line in self.batches[batch]:
            ahead = at(line.split()[0]) - DELAY > at(self.watermarks[batch])
            assert not ahead, f"{self.name}: {line} is ahead of the watermark"
        return [record(self._message(line)) for line in self.batches[batch]]

    def _message(self, line: str) -> dict[str, Any]:
        time, visitor, kind = line.split(" ", 2)
        properties = {"promotion_id": "p", "query": "boots", "product_id": "boot"}
        return message(
            f"{self.prefix}{visitor} {time}", self.prefix + visitor, kind, at(time), properties=properties
        )

    def difference(self, table: str, rows: list[dict[str, Any]]) -> str:
        """A description of missing and unexpected rows of a table; empty if there are none."""
        ours = [row for row in rows if any(str(row.get(key)).startswith(self.prefix) for key in KEYS)]
        wanted = self.expect[table]
        columns = list(wanted[0]) if wanted else list(KEYS)
        found = Counter(tuple(self._reported(name, row.get(name)) for name in columns) for row in ours)
        named = Counter(tuple(row[name] for name in columns) for row in wanted)
        missing, extra = list((named - found).elements()), list((found - named).elements())
        return f"{table} {columns}: missing {missing}, too many {extra}" if missing or extra else ""

    def _reported(self, column: str, value: Any) -> str:
        if isinstance(value, int) and column.endswith(("_at", "_time")):
            return f"{_EPOCH + timedelta(microseconds=value):%Y-%m-%dT%H:%M:%S}".removeprefix(_TODAY)
        if isinstance(value, bool) or value is None:
            return {True: "true", False: "false", None: "null"}[value]
        return str(value).removeprefix(self.prefix)


KEYS = ("visitor_id", "event_id")


def at(time: str) -> datetime:
    """A time from `hh:mm:ss` on the default day, or with a date."""
    return datetime.fromisoformat(time if "T" in time else _TODAY + time).replace(tzinfo=timezone.utc)


def clock(watermark: str) -> Record:
    """A heartbeat that moves the watermark to a time."""
    return heartbeat(instant(at(watermark) + DELAY))


def read_cases(path: Path) -> list[Case]:
    """The cases of a file, every value as text."""
    return [
        Case(
            name=reported["case"],
            prefix=f"c{number}/",
            watermarks=tuple(batch["watermark"] for batch in reported["batches"]),
            batches=tuple(tuple(batch["events"]) for batch in reported["batches"]),
            expect=reported["expect"],
            must_fail=reported.get("must_fail") == "true",
        )
        for number, reported in enumerate(yaml.load(path.read_text(), yaml.BaseLoader))
    ]


def by_clock(cases: list[Case]) -> dict[tuple[str, ...], list[Case]]:
    """Cases grouped by their watermarks. Cases of a group can share a run."""
    groups: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.watermarks].append(case)
    return groups
