"""`millrace rebuild`: tables computed anew from the layer before, while the jobs go on."""

from typing import Annotated

import typer
from rich.console import Console

from lakehouse.settings import load_settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(rebuild)


def rebuild(
    tables: Annotated[list[str], typer.Argument(help="Tables, as silver.events.", metavar="TABLE…")],
) -> None:
    """Compute tables anew from the layer before by the rules of now, and swap each in at once."""
    from millrace.workspace.handing_over import engine_runs, hand_over
    from millrace.workspace.once import run_once
    from millrace.workspace.orders import REBUILD, Order

    settings = load_settings()
    order = Order(REBUILD, tables)
    jobs = order.jobs()
    if engine_runs(settings):
        hand_over(settings, order, Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print)
    else:
        run_once(settings, jobs)
