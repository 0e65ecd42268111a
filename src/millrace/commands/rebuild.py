"""`millrace rebuild`: tables computed anew from the layer before, while the jobs go on."""

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(rebuild)


def rebuild(
    tables: Annotated[list[str], typer.Argument(help="Tables, as silver.events.", metavar="TABLE…")],
) -> None:
    """Compute tables anew from the layer before by the rules of now, and swap each in at once."""
    from millrace.commands.release import carry_out
    from millrace.local.requests.engine_commands import REBUILD

    carry_out(REBUILD, *tables)
