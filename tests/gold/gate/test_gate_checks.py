"""Which expectations the gate evaluates, without Spark."""

from pathlib import Path

import pytest

from gold.gate.gate_checks import gate_expectations
from gold.gate.gate_inputs import TABLES
from lakehouse.errors import MillraceError
from lakehouse.quality.suites import WARN, load_suites
from lakehouse.settings import load_settings


def test_shipped_gate_expectations_cover_exactly_the_gate_tables() -> None:
    suites = load_suites(load_settings().conf)
    found = gate_expectations(suites)
    assert {each.table for each in found} == set(TABLES)
    known = {each.id for each in found}
    others = [each for suite in suites.values() for each in suite.expectations if each.id not in known]
    assert not any(each.only_reported for each in found)
    assert {each.table in TABLES for each in others} == {True, False}
    assert all(each.only_reported if each.table in TABLES else each.severity == WARN for each in others)


@pytest.mark.parametrize("text", ["contract: stop", "expectations: [{name: x, expect: y, severity: stop}]"])
@pytest.mark.parametrize("table", ["silver.sessions", "gold.conversions"])
def test_stop_expectation_on_table_outside_the_gate_is_rejected(
    tmp_path: Path, table: str, text: str
) -> None:
    (tmp_path / "expectations").mkdir()
    (tmp_path / "expectations" / f"{table}.yml").write_text(text)
    with pytest.raises(MillraceError, match=f"gate does not look at that table.*{TABLES[-1]}") as error:
        gate_expectations(load_suites(tmp_path))
    assert table in str(error.value)
