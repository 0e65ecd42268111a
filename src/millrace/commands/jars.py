"""`millrace jars`: downloads and locks jars, for `make setup` and `make lock-jars`."""

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(hidden=True)(jars)


def jars(
    lock: Annotated[bool, typer.Option("--lock", help="Resolve jars.lock from ivy.xml.")] = False,
) -> None:
    """Fetch the jars of Spark and the broker."""
    if lock:
        from millrace.environment.resolve_lock import relock

        typer.echo("Resolving the jars of ivy.xml, about half a minute")
        typer.echo(f"{relock()} jars are in jars.lock")
    from millrace.environment.download_progress import fetch_jars

    fetch_jars()
