"""`millrace reset`: remove local state, after asking."""

from typing import Annotated

import typer

from lakehouse.settings import load_settings


def reset(yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False) -> None:
    """Delete all local state: tables, checkpoints, the broker's data, manifests, logs."""
    from millrace.local.process.home_lock import already_running, supervisor_pid
    from millrace.local.process.process_registry import kill_orphans
    from millrace.local.reset import removable, remove

    home = load_settings().home
    if supervisor_pid(home) is not None:
        raise already_running(home)
    folders = removable(home)
    if not folders:
        typer.echo(f"Nothing to remove in {home}.")
        return
    names = ", ".join(folder.name if folder.parent == home else str(folder) for folder in folders)
    if not yes and not typer.confirm(f"Remove {names} in {home} for good?"):
        typer.echo("Nothing was removed.")
        raise typer.Exit(1)
    kill_orphans(home)
    for folder in remove(home):
        typer.echo(f"removed {folder}")
