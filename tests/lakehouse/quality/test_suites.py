"""Loading of expectation suites: the shipped files, contracts and invalid files."""

from pathlib import Path

import pytest

from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.quality.sql_conditions import COLUMN_SET, require_decidable, scope_sql, violation_sql
from lakehouse.quality.suites import STOP, Expectation, load_suites
from lakehouse.settings import load_settings

EVENTS = "silver.events"


def load(tmp_path: Path, text: str, table: str = EVENTS) -> tuple[Expectation, ...]:
    (tmp_path / "expectations").mkdir()
    (tmp_path / "expectations" / f"{table}.yml").write_text(text)
    return load_suites(tmp_path)[table].expectations


def column_expectation(kind: str, **reported: object) -> Expectation:
    return Expectation(EVENTS, "a name", f"expect_column_values_{kind}", STOP, "url", reported)


def test_shipped_silver_expectations_can_be_evaluated_in_a_micro_batch() -> None:
    suites = load_suites(load_settings().conf)
    assert suites.keys() <= TABLES.keys()
    every = [each for suite in suites.values() for each in suite.expectations]
    assert len(every) > 30
    for each in every:
        if each.table.startswith("silver.") and not each.only_reported and each.kind != COLUMN_SET:
            require_decidable(each)


def test_contract_expects_declared_columns_and_unique_non_null_key(tmp_path: Path) -> None:
    columns, filled, once = load(tmp_path, "contract: stop")
    assert columns.arguments["column_set"] == list(TABLES[EVENTS].column_names)
    assert (filled.column, filled.severity) == ("event_id", "stop")
    assert (once.kind, once.column) == ("expect_column_values_to_be_unique", "event_id")
    assert once.only_reported


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("expectations: [{name: x}]", "has no 'expect'"),
        ("expectations: [{expect: x}]", "has no 'name'"),
        ("expectations: [{name: x, expect: y, severity: halt}]", "severity"),
        ("expectations: [{name: x, expect: y, of: minutes}]", "`of`"),
        ("expectations: [{name: x, expect: y, severity: stop, only_reported: true}]", "only reported"),
        ("expectations: [{name: x, expect: y}, {name: x, expect: z}]", "more than one 'x'"),
        ("expectations: [", "is not valid YAML"),
    ],
)
def test_invalid_suite_fails_with_one_line_error(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(MillraceError, match=problem) as error:
        load(tmp_path, text)
    assert "\n" not in str(error.value)


def test_suite_of_unknown_table_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(MillraceError, match="named after no table"):
        load(tmp_path, "contract: stop", table="silver.nothing")


def test_folder_without_suites_has_no_expectations(tmp_path: Path) -> None:
    assert load_suites(tmp_path) == {}


def test_quote_in_value_set_is_escaped() -> None:
    assert (
        violation_sql(column_expectation("to_be_in_set", value_set=["it's", 7]))
        == "NOT (`url` IN ('it''s', 7))"
    )


def test_null_is_in_scope_of_null_expectations_only() -> None:
    assert scope_sql(column_expectation("to_be_in_set", value_set=[1])) == "`url` IS NOT NULL"
    assert scope_sql(column_expectation("to_not_be_null")) == "TRUE"


def test_uniqueness_expectation_is_rejected_in_a_micro_batch() -> None:
    with pytest.raises(MillraceError, match="a micro-batch cannot evaluate"):
        require_decidable(column_expectation("to_be_unique"))
