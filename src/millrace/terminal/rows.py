"""Prints rows: in a terminal as a table if it fits, else with one value per line; in a pipe as a table."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

_GAP = 2  # columns between two values
_SHOWN = 200  # rows of an answer


def print_rows(answer: pl.DataFrame) -> None:
    """Print the first rows, and the number of all rows."""
    names = answer.columns
    rows = [
        ["" if value is None else as_text(value) for value in row] for row in answer.head(_SHOWN).iter_rows()
    ]
    width = sum(max(map(len, column)) + _GAP for column in zip(names, *rows, strict=True)) if names else 0
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = max(width, console.width)
    if width > console.width:
        _print_records(names, rows, console)
    else:
        _print_table(names, rows, console)
    shown = f", the first {_SHOWN} shown; --csv or --json prints all" if len(answer) > _SHOWN else ""
    console.print(f"{len(answer):,} row{'' if len(answer) == 1 else 's'}{shown}", style="dim")


def print_json_lines(rows: pl.DataFrame) -> None:
    """Print all rows, one JSON object per line."""
    for row in rows.iter_rows(named=True):
        typer.echo(json.dumps(row, ensure_ascii=False, default=str))


def as_table(answer: pl.DataFrame, versions: Mapping[str, int]) -> Table:
    """The first rows as a table, followed by the number of rows and the table versions that were read."""
    shown = answer.head(_SHOWN)
    rows = [["" if value is None else as_text(value) for value in row] for row in shown.iter_rows()]
    table = _table(answer.columns, rows)
    at = ", ".join(f"{name} {version}" for name, version in versions.items())
    table.caption, table.caption_justify = f"{len(answer):,} rows at {at}", "left"
    return table


def as_text(value: Any) -> str:
    """A value as text: lists and structs as JSON."""
    return (
        json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, dict)) else str(value)
    )


def with_nested_as_text(answer: pl.DataFrame) -> pl.DataFrame:
    """The same rows with lists and structs as JSON, for CSV."""
    nested = [name for name, type_ in answer.schema.items() if type_.is_nested()]
    texts = {
        name: [None if value is None else as_text(value) for value in answer[name].to_list()]
        for name in nested
    }
    return answer.with_columns(pl.Series(name, values, pl.String) for name, values in texts.items())


def _print_table(names: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    console.print(_table(names, rows), soft_wrap=True)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, _GAP, 0, 0))
    for name in names:
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _print_records(names: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    longest = max(map(len, names))
    for number, row in enumerate(rows, start=1):
        console.rule(f"row {number}", align="left", characters="-", style="dim")
        for name, value in zip(names, row, strict=True):
            console.print(Text.assemble((name.ljust(longest + _GAP), "dim"), value), soft_wrap=True)
