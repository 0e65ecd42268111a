"""`millrace quality`: shows whether gold is held, and why."""

import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lakehouse.settings import Settings, load_settings

_BYTES = 60  # shown characters of an example
_WIDE = 140  # columns, if the terminal's width is unknown


def register(app: typer.Typer) -> None:
    """Add the group; without a subcommand, it shows the state of the gate."""
    quality = typer.Typer(invoke_without_command=True)
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
    """Show whether the gate holds gold back, and the results of the last evaluation.

    Exit code 1 if it does.
    """
    if context.invoked_subcommand:
        return
    from millrace.local.process.state_files import one_line
    from millrace.tables.gate_status import gate, is_held, last_results
    from millrace.tables.table_scan import reading
    from millrace.terminal.gate_report import print_gate, print_results

    settings = load_settings()
    with reading(settings):
        last, held, results = gate(settings), is_held(settings), last_results(settings)
    if as_json:
        typer.echo(one_line({"held": held, "gate": last, "expectations": results}))
    else:
        console = _console()
        print_gate(console, last, held)
        print_results(console, results, every)
    if held:
        raise typer.Exit(1)


def explain(
    expectation: Annotated[
        str, typer.Argument(help="Its name or a part of it; all that failed without one.", show_default=False)
    ] = "",
) -> None:
    """Show rows that are not as expected, and the query that finds them."""
    from millrace.tables.gate_status import explain as explain_failures
    from millrace.tables.table_scan import reading
    from millrace.terminal.gate_report import print_failures

    settings = load_settings()
    console = _console()
    with reading(settings):
        failures = explain_failures(settings, expectation or None)
    print_failures(console, failures)


def report(
    build: Annotated[
        bool, typer.Option("--build", help="Run the job `quality` first, which builds it.")
    ] = False,
) -> None:
    """Print where the report for the browser is; with --build, run the job `quality` first."""
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
        bool, typer.Option("--again", help="Count those that the current rules would accept; needs Spark.")
    ] = False,
) -> None:
    """Show rejected records by day and reason, with an example of each."""
    from millrace.commands.release import carry_out
    from millrace.local.requests.engine_commands import RECONSIDER
    from millrace.tables.gate_status import refused as refused_records
    from millrace.tables.table_scan import reading

    table = Table("day", "reason", "records", "example at", "bytes", box=None, header_style="dim")
    settings = load_settings()
    with reading(settings):
        records = refused_records(settings)
    for row in records:
        begins = (row["value"] or b"")[:_BYTES].decode(errors="replace")
        cells = (row["day"], row["reason"], f"{row['records']:,}", row["place"], begins)
        table.add_row(*(Text(str(each)) for each in cells))
    _console().print(table)
    if again:
        carry_out(RECONSIDER)


def _page(settings: Settings) -> Any:
    return settings.quality / "report" / "index.html"


def _console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
