"""Expectations as data: one file per table in `conf/expectations`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError

FOLDER = "expectations"
STOP, WARN = "stop", "warn"
ROWS, RECORDS, HOURS = "rows", "records", "hours"
_KNOWN = {
    "name", "expect", "column", "severity", "where", "mostly", "at_least", "of", "only_reported",
    "margin", "advice",
}  # fmt: skip


@dataclass(frozen=True)
class Expectation:
    """An expectation on a table.

    Args:
        table: name of the table.
        name: a sentence that states the expectation; unique in the table.
        kind: the expectation's name in Great Expectations.
        severity: `stop` closes the gate before gold, `warn` only sends an alert.
        column: the column, if the expectation is on one column.
        arguments: further arguments of Great Expectations: bounds, sets, patterns.
        where: SQL condition on the rows in scope.
        mostly: minimum share of rows in scope that meet the expectation, 0 to 1.
        at_least: minimum number of rows for a decision; fewer are added to those of the next batch.
        of: what is counted: `rows` of the table, all `records` of the batch, or whole `hours`.
        only_reported: whether only the scheduled job evaluates it: it cannot be counted row by row.
        margin: if set, the share of violating rows may also exceed that of the shop's own history by this
            much. While there is too little history, the expectation only warns.
        advice: what to check first if it fails.
    """

    table: str
    name: str
    kind: str
    severity: str
    column: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = None
    mostly: float = 1.0
    at_least: int = 0
    of: str = ROWS
    only_reported: bool = False
    margin: float | None = None
    advice: str | None = None

    @property
    def id(self) -> str:
        """Table and name, as shown to users."""
        return f"{self.table}: {self.name}"


@dataclass(frozen=True)
class Suite:
    """The expectations on one table.

    Args:
        table: name of the table.
        columns: SQL by name of columns that are computed only for the expectations.
        expectations: in the order of the file, those of the contract first.
    """

    table: str
    columns: Mapping[str, str]
    expectations: tuple[Expectation, ...]


def load_suites(conf: Path) -> dict[str, Suite]:
    """The current suites by table; none if the folder does not exist.

    Raises:
        MillraceError: if a file is not valid.
    """
    files = sorted((conf / FOLDER).glob("*.yml"))
    return {file.stem: _suite(file) for file in files}


def _suite(file: Path) -> Suite:
    if file.stem not in TABLES:
        raise MillraceError(f"{file} is named after no table", f"Tables: {', '.join(TABLES)}")
    try:
        loaded = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise MillraceError(
            f"{file} is not valid YAML: {' '.join(str(error).split())}", "Correct it"
        ) from error
    written = [_expectation(file, entry) for entry in loaded.get("expectations", [])]
    all_of_them = (*_of_contract(file.stem, loaded.get("contract")), *written)
    names = [each.name for each in all_of_them]
    if twice := {name for name in names if names.count(name) > 1}:
        raise MillraceError(f"{file} has more than one {min(twice)!r}", "Give each a name of its own")
    return Suite(file.stem, loaded.get("columns", {}), all_of_them)


def _expectation(file: Path, entry: dict[str, Any]) -> Expectation:
    for name in ("name", "expect"):
        if not isinstance(entry.get(name), str):
            raise MillraceError(f"{file}: an expectation has no {name!r}: {entry}", "Say what is expected")
    loaded = {key: value for key, value in entry.items() if key in _KNOWN - {"expect", "name", "severity"}}
    severity = entry.get("severity", WARN)
    if severity not in (STOP, WARN) or loaded.get("of", ROWS) not in (ROWS, RECORDS, HOURS):
        raise MillraceError(
            f"{file}: {entry['name']!r} has a severity or an `of` that is not known",
            "severity is stop or warn; of is rows, records or hours",
        )
    if severity == STOP and loaded.get("only_reported"):
        raise MillraceError(
            f"{file}: {entry['name']!r} is only reported, so it can't stop anything", "Let it warn"
        )
    margin = loaded.get("margin")
    if margin is not None and not (isinstance(margin, (int, float)) and 0 < margin < 1):
        raise MillraceError(
            f"{file}: {entry['name']!r} has a margin of {margin}", "Give a share between 0 and 1"
        )
    arguments = {key: value for key, value in entry.items() if key not in _KNOWN}
    return Expectation(file.stem, entry["name"], entry["expect"], severity, arguments=arguments, **loaded)


def _of_contract(table: str, severity: str | None) -> Iterator[Expectation]:
    """Expectations that follow from the contract: its columns, and a non-null unique key."""
    if severity is None:
        return
    declared = TABLES[table]
    columns = {"column_set": list(declared.column_names), "exact_match": True}
    yield Expectation(
        table, "has the columns declared", "expect_table_columns_to_match_set", severity, arguments=columns
    )
    for key in declared.key:
        yield Expectation(table, f"{key} is filled", "expect_column_values_to_not_be_null", severity, key)
    once = "each key is there once"
    if len(declared.key) == 1:
        kind, column = "expect_column_values_to_be_unique", declared.key[0]
        yield Expectation(table, once, kind, severity, column, only_reported=True)
    elif declared.key:
        kind, loaded = "expect_compound_columns_to_be_unique", {"column_list": list(declared.key)}
        yield Expectation(table, once, kind, severity, arguments=loaded, only_reported=True)
