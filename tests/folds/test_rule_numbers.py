"""conf/rules.yml: what it may say, and what is refused."""

from datetime import timedelta
from pathlib import Path

import pytest

from folds.rule_numbers import RuleNumbers, load_rule_numbers
from lakehouse.errors import MillraceError

CONF = Path(__file__).resolve().parents[2] / "conf"


def written(folder: Path, text: str) -> Path:
    (folder / "rules.yml").write_text(text)
    return folder


def test_the_file_says_what_the_defaults_are() -> None:
    assert load_rule_numbers(CONF) == RuleNumbers()


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    assert load_rule_numbers(tmp_path) == RuleNumbers()
    assert load_rule_numbers(written(tmp_path, "")) == RuleNumbers()
    found = load_rule_numbers(written(tmp_path, "half_life: P3D\n"))
    assert found == RuleNumbers(half_life=timedelta(days=3))


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_what_breaks_a_rule_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MillraceError) as refused:
        load_rule_numbers(written(tmp_path, text))
    found = str(refused.value).splitlines()[0]
    assert "rules.yml" in found
    assert said in found


def test_exposures_as_long_as_the_gap_are_allowed(tmp_path: Path) -> None:
    found = load_rule_numbers(written(tmp_path, "session_gap: PT10M\nimpression_span: PT10M\n"))
    assert found.impression_span == found.session_gap
