"""Whose retention is over: persons by their last event, over all their visitors."""

import random
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest

from kit.warehouse_builder import append_rows
from lakehouse.bundle_file import conf_folder
from lakehouse.errors import MillraceError
from lakehouse.run.rules_version import rules_version
from lakehouse.settings import load_settings
from millrace.tables import table_scan
from privacy.erasure.retention import FILE, find_expired, load_retention
from privacy.identities import Person

DAY = timedelta(days=1)
NOW = datetime(2026, 11, 28, tzinfo=timezone.utc)


def home(path: Path, events: list[tuple[str, str | None, int]]) -> partial:  # type: ignore[type-arg]
    """A home with events of visitors and users, so many days ago; a user's events are spans of the user."""
    rows = [
        {"event_id": f"e{number}", "visitor_id": visitor, "user_id": user, "event_time": NOW - days * DAY}
        for number, (visitor, user, days) in enumerate(events)
    ]
    append_rows(path, "silver.events", rows)
    append_rows(path, "silver.identities", [row for row in rows if row["user_id"]])
    return partial(table_scan.scan, load_settings(home=path))


def test_person_expires_with_the_last_event_of_all_visitors(tmp_path: Path) -> None:
    scan = home(
        tmp_path,
        [
            ("old", "ann", 40),
            ("phone", "ann", 10),
            ("laptop", "ben", 31),
            ("tablet", "ben", 90),
            ("shared", "eve", 90),
            ("shared", "ann", 5),
            ("stranger", None, 30),
            ("guest", None, 31),
        ],
    )
    found = find_expired(scan, NOW - 30 * DAY)
    assert found == Person(frozenset({"ben"}), frozenset({"ben", "laptop", "tablet", "guest"}))
    assert find_expired(scan, NOW - 90 * DAY).identities == []


def test_earliest_persons_are_taken_first(tmp_path: Path) -> None:
    ages = random.Random(1).sample(range(100, 400), 50)
    scan = home(tmp_path, [(f"v{age}", f"u{age}" if age % 2 else None, age) for age in ages])
    oldest = sorted(ages)[-20:]
    found = find_expired(scan, NOW, 20)
    assert found.users == {f"u{age}" for age in oldest if age % 2}
    assert found.visitors - found.users == {f"v{age}" for age in oldest}


def test_nothing_expires_in_an_empty_home(tmp_path: Path) -> None:
    scan = partial(table_scan.scan, load_settings(home=tmp_path))
    assert find_expired(scan, NOW).identities == []


def test_file_gives_the_span(tmp_path: Path) -> None:
    assert load_retention(tmp_path).persons is None
    assert load_retention(conf_folder()).persons is None
    (tmp_path / FILE).write_text("persons: P730D\n")
    assert load_retention(tmp_path).persons == 730 * DAY
    for wrong in ("persons: PT1H\n", "events: P1D\n", "persons: long\n", "records: P0D\n"):
        (tmp_path / FILE).write_text(wrong)
        with pytest.raises(MillraceError, match=FILE):
            load_retention(tmp_path)


def test_retention_is_no_rule_of_tables(tmp_path: Path) -> None:
    before = rules_version(tmp_path)
    (tmp_path / FILE).write_text("persons: P730D\n")
    assert rules_version(tmp_path) == before
