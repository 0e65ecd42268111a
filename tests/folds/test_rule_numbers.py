"""Defaults and validation of conf/rules.yml."""

from datetime import timedelta
from pathlib import Path

import pytest

from folds.rule_numbers import RuleNumbers, load_rule_numbers
from lakehouse.errors import MillraceError

CONF = Path(__file__).resolve().parents[2] / "conf"


def with_rules_yml(folder: Path, text: str) -> Path:
    (folder / "rules.yml").write_text(text)
    return folder


def test_shipped_rules_yml_equals_defaults() -> None:
    assert load_rule_numbers(CONF) == RuleNumbers()


def test_missing_rules_use_defaults(tmp_path: Path) -> None:
    assert load_rule_numbers(tmp_path) == RuleNumbers()
    assert load_rule_numbers(with_rules_yml(tmp_path, "")) == RuleNumbers()
    found = load_rule_numbers(with_rules_yml(tmp_path, "half_life: P3D\n"))
    assert found == RuleNumbers(half_life=timedelta(days=3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("session_gap: PT10M", "rules.yml: impression_span is longer than session_gap"),
        ("search_span: PT31M", "rules.yml: search_span is longer than session_gap"),
        ("click_pause: PT1H", "rules.yml: click_pause is longer than session_gap"),
        ("{session_gap: PT1M, impression_span: PT1M, search_span: PT1M}", "session_gap is shorter than two"),
        ("look_back: P1D\nhalf_life: PT1M", "look_back is longer than 1,000 times half_life"),
        ("look_back: P0D", "rules.yml: look_back: "),
        ("half_life: soon", "rules.yml: half_life: "),
        ("position_ends: 0.6", "rules.yml: position_ends: "),
        ("bot_events: 0", "rules.yml: bot_events: "),
        ("sesion_gap: PT30M", "rules.yml: sesion_gap: "),
        ("half_life: [", "not valid YAML"),
        ("- PT30M", ""),
    ],
)
def test_invalid_rules_yml_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(MillraceError) as rejected:
        load_rule_numbers(with_rules_yml(tmp_path, text))
    found = str(rejected.value).splitlines()[0]
    assert "rules.yml" in found
    assert message in found


def test_impression_span_may_equal_session_gap(tmp_path: Path) -> None:
    found = load_rule_numbers(with_rules_yml(tmp_path, "session_gap: PT10M\nimpression_span: PT10M\n"))
    assert found.impression_span == found.session_gap
