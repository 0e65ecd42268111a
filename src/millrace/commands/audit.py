"""`millrace audit`: checks that no record is lost or duplicated."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.audit.finding import Finding
from millrace.local.process.state_files import one_line


def audit(
    of_bytes: Annotated[
        bool,
        typer.Option("--bytes", help="Compare the bytes of files with their SHA-256 instead."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, with every comparison.")] = False,
) -> None:
    """Check that nothing is lost or doubled, from manifests and Kafka to gold; exit code 1 on a difference.

    Compares manifests, broker, bronze, ledger and silver, and recomputes credits and windows of gold, up
    to the jobs' high-water marks. Starts a stopped local broker for it. --bytes instead reads every live
    file of every table, its log and the manifests, and compares each with its SHA-256 in ops.digests.
    """
    settings = load_settings()
    if of_bytes:
        _audit_bytes(settings, as_json)
        return
    from millrace.audit.comparisons import run_audit
    from millrace.tables.table_scan import reading

    with _kafka(settings), reading(settings):
        wrong = _print(run_audit(settings), as_json)
    if wrong:
        raise _difference(wrong)
    if not as_json:
        typer.echo("Audit ok: nothing is missing and nothing is doubled.")


def _audit_bytes(settings: Settings, as_json: bool) -> None:
    from millrace.audit.file_bytes import audit_bytes

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("comparing files", total=None)
        findings = list(
            audit_bytes(settings, lambda done, total: bar.update(task, completed=done, total=total))
        )
    if wrong := _print(findings, as_json):
        raise _difference(wrong, command="millrace audit --bytes")
    if not as_json:
        typer.echo("Audit ok: every byte that has been recorded is as it was.")


def _print(findings: Iterable[Finding], as_json: bool) -> int:
    """Print findings. Returns the number of wrong ones."""
    if as_json:
        found = list(findings)
        right = all(finding.is_right for finding in found)
        typer.echo(one_line({"ok": right, "comparisons": [asdict(finding) for finding in found]}))
        return sum(not finding.is_right for finding in found)
    table = Table("", "compared", "found", box=None, header_style="dim")
    wrong = 0
    for finding in findings:
        wrong += not finding.is_right
        mark = "[green]ok[/]" if finding.is_right else "[red]wrong[/]"
        table.add_row(mark, escape(finding.what), escape(finding.detail))
    Console(soft_wrap=True).print(table)
    return wrong


def require_whole(settings: Settings) -> None:
    """Raise a MillraceError if the audit finds a difference."""
    from millrace.audit.comparisons import run_audit

    wrong = [finding for finding in run_audit(settings) if not finding.is_right]
    if wrong:
        raise _difference(len(wrong), f": {wrong[0].what}: {wrong[0].detail}")


@contextmanager
def _kafka(settings: Settings) -> Iterator[None]:
    """Start the local broker for the block, if it is not running."""
    from bronze.kafka_auth import client_options
    from millrace.local.kafka.broker import running_broker
    from millrace.local.kafka.kafka_health import cluster_id
    from millrace.local.kafka.login_files import make_login

    has_broker = (
        settings.kafka_bootstrap is None and not settings.catalog and (settings.home / "kafka").is_dir()
    )
    if has_broker:
        make_login(settings.home, settings.broker_security)
    if has_broker and cluster_id(settings.bootstrap, 1.0, client_options(settings)) is None:
        typer.echo("Starting the local broker for the audit.", err=True)
        with running_broker(settings.home, settings.broker_port, settings.broker_security):
            yield
    else:
        yield


def _difference(count: int, first: str = "", command: str = "millrace audit") -> MillraceError:
    return MillraceError(
        f"the audit found {count} difference{'s' * (count > 1)}{first}",
        f"Keep the home as it is, and look at the rows marked wrong in `{command}`",
    )
