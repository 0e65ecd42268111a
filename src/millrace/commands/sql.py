"""`millrace sql`: ask the tables, without a JVM."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lakehouse.settings import load_settings

_SHOWN = 200


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sql)


def sql(
    query: Annotated[str, typer.Argument(help='A query, as "SELECT count(*) FROM silver.sessions".')],
    csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
) -> None:
    """Query the tables by their names: layer.table. Shows the first 200 rows, or with --csv all."""
    from millrace.query import run_query

    answer = run_query(load_settings(), query)
    if csv:
        typer.echo(answer.write_csv(), nl=False)
        return
    table = Table(*answer.columns, box=None, header_style="dim")
    for row in answer.head(_SHOWN).iter_rows():
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    console = Console(soft_wrap=True)
    console.print(table)
    shown = f", the first {_SHOWN} shown; --csv prints all" if len(answer) > _SHOWN else ""
    console.print(f"{len(answer):,} rows{shown}", style="dim")
