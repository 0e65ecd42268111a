"""Defaults and validation of conf/windows.yml."""

from datetime import timedelta
from pathlib import Path

import pytest

from folds.windows.window_rules import STANDARD, Trigger, WindowRule, from_json, load_window_rules, to_json
from lakehouse.errors import MillraceError

CONF = Path(__file__).resolve().parents[3] / "conf"
STANDARD_LINES = (CONF / "windows.yml").read_text()


def with_windows_yml(folder: Path, line: str) -> Path:
    (folder / "windows.yml").write_text(f"{STANDARD_LINES}\n{line}\n")
    return folder


def test_shipped_windows_yml_has_standard_windows() -> None:
    assert load_window_rules(CONF) == STANDARD


def test_missing_windows_yml_means_standard_windows(tmp_path: Path) -> None:
    assert load_window_rules(tmp_path) == STANDARD


def test_added_window_survives_json_round_trip(tmp_path: Path) -> None:
    line = "half hours: {size: PT30M, slide: PT10M, trigger: {every: PT20M}, lateness: count}"
    found = load_window_rules(with_windows_yml(tmp_path, line))
    half_hour, ten, twenty = (timedelta(minutes=minutes) for minutes in (30, 10, 20))
    trigger = Trigger(every=twenty)
    assert found["half hours"] == WindowRule(size=half_hour, slide=ten, trigger=trigger, lateness="count")
    assert from_json(to_json(found)) == found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("odd: {size: PT90S}", "odd: size and slide are whole minutes"),
        ("odd: {size: P2D}", "odd: size is at most a day"),
        ("odd: {size: PT1H, slide: PT7M}", "odd: size is not a multiple of slide"),
        ("odd: {size: PT7M}", "odd: a day is not a multiple of slide"),
        ("odd: {size: P1D, slide: PT1M}", "odd: an event would lie in more than 288 windows"),
        ("odd: {size: PT1H, trigger: {}}", "odd: trigger: give either events or every"),
        ("odd: {size: PT1H, trigger: {events: 0}}", "odd: trigger: events"),
        ("odd: {size: PT1H, lateness: drop}", "odd: lateness"),
        ("odd: {siez: PT1H}", "odd: siez"),
        ("odd: {}", "odd: give either size or events"),
        ("odd: {events: 0}", "odd: events: "),
        ("odd: {events: 10, size: PT1H}", "odd: give either size or events"),
        ("odd: {events: 10, slide: PT1H}", "odd: windows by events have neither slide nor trigger"),
        ("1 hour: {size: PT2H}", "1 hour is not as the pages read it"),
    ],
)
def test_invalid_window_rule_is_rejected(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(MillraceError) as rejected:
        load_window_rules(with_windows_yml(tmp_path, line))
    assert f"windows.yml: {message}" in str(rejected.value)


def test_missing_standard_window_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "windows.yml").write_text("1 minute: {size: PT1M}\n")
    with pytest.raises(MillraceError, match=r"1 hour is missing\. Restore the line 1 hour: "):
        load_window_rules(tmp_path)
