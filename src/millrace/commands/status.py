"""`millrace status`: shows processes, the progress of jobs, and rows of tables."""

from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def status(
    watch: Annotated[bool, typer.Option("--watch", help="Keep the view open and up to date.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show processes, jobs, topic lag, tables, watermark and last errors of a home.

    Jobs have their lag, tables their rows and how far they are behind bronze: the ingest time between the
    last record in bronze and the last one that is in the table.
    """
    from rich.console import Console

    from millrace.local.process.state_files import one_line
    from millrace.local.status import poll
    from millrace.local.status.render import render
    from millrace.local.status.snapshot import take_snapshot
    from millrace.shutdown_signal import ShutdownSignal

    settings = load_settings()
    if settings.catalog:
        raise MillraceError(
            f"`millrace status` is about a home, and the tables are in the catalog {settings.catalog}",
            'See page Pipeline, or `millrace sql "SELECT * FROM ops.ledger"`; '
            "for a home, unset MILLRACE_CATALOG",
        )
    if watch and not as_json:
        with ShutdownSignal().on_signals() as stop:
            poll.watch(settings, is_running=lambda: not stop.requested)
        return
    snapshot = take_snapshot(settings)
    if as_json:
        typer.echo(one_line(snapshot.as_dict()))
    else:
        Console(highlight=False).print(render(snapshot))
