"""Prints the state of the gate before gold."""

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millrace.tables.gate_status import Failure


def print_failures(console: Console, failures: Sequence[Failure]) -> None:
    """Print rows that violate expectations, and the queries that find them."""
    if not failures:
        console.print("Nothing has failed.")
    for failure in failures:
        console.print(failure.expectation, style="bold")
        console.print(Text(f'millrace sql "{_in_quotes(failure.query)}"'), style="dim", soft_wrap=True)
        table = Table(*(failure.rows[0] if failure.rows else ()), box=None, header_style="dim")
        for row in failure.rows:
            table.add_row(*(Text("" if value is None else str(value)) for value in row.values()))
        console.print(table)


def print_gate(console: Console, last: dict[str, Any] | None, held: bool) -> None:
    """Print whether the gate is open, since when and why; `last` is its latest change."""
    if last is None:
        console.print(Text.assemble(("open", "green"), ": it has never been closed"))
        return
    since = f"since {last['at']:%Y-%m-%d %H:%M:%S}"
    if held:
        console.print(Text.assemble(("closed", "red"), f" {since}: gold is held"))
        for reason in last["reasons"]:
            console.print(Text(f"  {reason}"))
        console.print("Next: millrace quality explain; then millrace replay, or millrace release")
    else:
        by = f" by {last['who']}: {last['why']}" if last["who"] else ""
        console.print(Text(f"open {since}: what was held has been {last['state']}{by}"))


def print_results(console: Console, results: list[dict[str, Any]], every: bool) -> None:
    """Print the latest result of each expectation, or only failed ones."""
    shown = [row for row in results if every or not row["success"]]
    table = Table("", "severity", "expectation", "not as expected", "evaluated", box=None, header_style="dim")
    for row in shown:
        mark = Text("ok", "green") if row["success"] else Text("failed", "red")
        found = f"{row['unexpected_count']:,} of {row['rows']:,}"
        name = Text(f"{row['table']}: {row['name']}")
        table.add_row(mark, row["severity"], name, found, f"{row['run_at']:%Y-%m-%d %H:%M:%S}")
    if shown:
        console.print(table)
    met = sum(row["success"] for row in results)
    console.print(f"{met} of {len(results)} expectations were met in the last evaluation", style="dim")


def _in_quotes(text: str) -> str:
    """The text, escaped for double quotes in a shell."""
    return re.sub(r'(["\\$`])', r"\\\1", text)
