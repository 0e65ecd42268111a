"""`millrace quality`: is gold held, and why?"""

import re
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lakehouse.settings import Settings, load_settings

_BYTES = 60  # shown of an example
_WIDE = 140  # columns, where nobody says how many there are


def register(app: typer.Typer) -> None:
    """Add the group, which by itself says how the gate is."""
    quality = typer.Typer(help="The gate before gold: how it is, and why.", invoke_without_command=True)
    quality.callback()(show)
    quality.command()(explain)
    quality.command()(report)
    quality.command()(refused)
    app.add_typer(quality, name="quality")


def show(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Expectations that are met, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say whether gold is held, and what was found at the last look; exit code 1 if it is held."""
    if context.invoked_subcommand:
        return
    from millrace.quality import gate, is_held, last_results
    from millrace.workspace.state import one_line

    settings = load_settings()
    last, held, results = gate(settings), is_held(settings), last_results(settings)
    if as_json:
        typer.echo(one_line({"held": held, "gate": last, "expectations": results}))
    else:
        console = _console()
        _tell_gate(console, last, held)
        _tell_results(console, results, every)
    if held:
        raise typer.Exit(1)


def explain(
    expectation: Annotated[
        str, typer.Argument(help="Its name or a part of it; all that failed without one.", show_default=False)
    ] = "",
) -> None:
    """Show rows that are not as expected, and the query that finds them."""
    from millrace.quality import explain as explain_failures

    settings = load_settings()
    console = _console()
    failures = explain_failures(settings, expectation or None)
    if not failures:
        console.print("Nothing has failed.")
    for failure in failures:
        console.print(failure.expectation, style="bold")
        console.print(Text(f'millrace sql "{_in_quotes(failure.query)}"'), style="dim", soft_wrap=True)
        table = Table(*failure.rows.columns, box=None, header_style="dim")
        for row in failure.rows.iter_rows():
            table.add_row(*(Text("" if value is None else str(value)) for value in row))
        console.print(table)


def report(
    build: Annotated[bool, typer.Option("--build", help="Build it anew first: the job `quality`.")] = False,
) -> None:
    """Say where the report for the browser is; with --build, make it anew."""
    from lakehouse.errors import MillraceError
    from millrace.commands.run import run

    settings = load_settings()
    page = _page(settings)
    if build:
        run(["quality"], once=True)
    if not page.is_file():
        raise MillraceError("there is no report yet", "Build it: `millrace quality report --build`")
    typer.echo(page.as_uri())


def refused(
    again: Annotated[
        bool, typer.Option("--again", help="How many would be accepted by the rules of now; takes Spark.")
    ] = False,
) -> None:
    """Show refused records by day and reason, with an example of each."""
    from millrace.commands.release import carry_out
    from millrace.quality import refused as refused_records
    from millrace.workspace.orders import RECONSIDER

    table = Table("day", "reason", "records", "example at", "bytes", box=None, header_style="dim")
    for row in refused_records(load_settings()).iter_rows(named=True):
        begins = (row["value"] or b"")[:_BYTES].decode(errors="replace")
        told = (row["day"], row["reason"], f"{row['records']:,}", row["place"], begins)
        table.add_row(*(Text(str(each)) for each in told))
    _console().print(table)
    if again:
        carry_out(RECONSIDER)


def _in_quotes(text: str) -> str:
    """What a shell takes for this text between double quotes."""
    return re.sub(r'(["\\$`])', r"\\\1", text)


def _page(settings: Settings) -> Any:
    return settings.quality / "report" / "index.html"


def _tell_gate(console: Console, last: dict[str, Any] | None, held: bool) -> None:
    if last is None:
        console.print("[green]open[/]: it has never been closed")
        return
    since = f"since {last['at']:%Y-%m-%d %H:%M:%S}"
    if held:
        console.print(f"[red]closed[/] {since}: gold is held")
        for reason in last["reasons"]:
            console.print(Text(f"  {reason}"))
        console.print("Next: millrace quality explain; then millrace replay, or millrace release")
    else:
        by = f" by {last['who']}: {last['why']}" if last["who"] else ""
        console.print(Text(f"open {since}: what was held has been {last['state']}{by}"))


def _tell_results(console: Console, results: list[dict[str, Any]], every: bool) -> None:
    shown = [row for row in results if every or not row["success"]]
    table = Table("", "severity", "expectation", "not as expected", "looked at", box=None, header_style="dim")
    for row in shown:
        mark = "[green]ok[/]" if row["success"] else "[red]failed[/]"
        found = f"{row['unexpected_count']:,} of {row['rows']:,}"
        name = Text(f"{row['table']}: {row['name']}")
        table.add_row(mark, row["severity"], name, found, f"{row['run_at']:%Y-%m-%d %H:%M:%S}")
    if shown:
        console.print(table)
    met = sum(row["success"] for row in results)
    console.print(f"{met} of {len(results)} expectations were met when last looked at", style="dim")


def _console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
