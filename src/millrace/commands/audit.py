"""`millrace audit`: is everything there, and everything once?"""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.table_scan import reading


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(audit)


def audit() -> None:
    """Compare manifests, broker, bronze, ledger, silver and gold with each other; exit 1 on a difference."""
    from millrace.audit import run_audit

    settings = load_settings()
    table = Table("", "compared", "found", box=None, header_style="dim")
    wrong = 0
    with _kafka(settings), reading(settings):
        for finding in run_audit(settings):
            wrong += not finding.is_right
            mark = "[green]ok[/]" if finding.is_right else "[red]wrong[/]"
            table.add_row(mark, escape(finding.what), escape(finding.detail))
    Console(soft_wrap=True).print(table)
    if wrong:
        raise _difference(wrong)
    typer.echo("Audit ok: nothing is missing and nothing is doubled.")


def require_whole(settings: Settings) -> None:
    """Raise a MillraceError if the audit finds a difference."""
    from millrace.audit import run_audit

    wrong = [finding for finding in run_audit(settings) if not finding.is_right]
    if wrong:
        raise _difference(len(wrong), f": {wrong[0].what}: {wrong[0].detail}")


@contextmanager
def _kafka(settings: Settings) -> Iterator[None]:
    """Start the local broker for as long as it is asked, if it isn't running."""
    from millrace.workspace.broker import running_broker
    from millrace.workspace.kafka_health import cluster_id

    is_stopped = (
        settings.kafka_bootstrap is None
        and not settings.catalog
        and cluster_id(settings.bootstrap, seconds=1.0) is None
    )
    if is_stopped and (settings.home / "kafka").is_dir():
        typer.echo("Starting the local broker for the audit.", err=True)
        with running_broker(settings.home, settings.broker_port):
            yield
    else:
        yield


def _difference(count: int, first: str = "") -> MillraceError:
    return MillraceError(
        f"the audit found {count} difference{'s' * (count > 1)}{first}",
        "Keep the home as it is, and look at the rows marked wrong in `millrace audit`",
    )
