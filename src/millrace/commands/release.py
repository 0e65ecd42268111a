"""`millrace release` and `millrace replay`: open a closed gate."""

import getpass
from collections.abc import Sequence
from enum import Enum
from typing import Annotated

import typer
from rich.console import Console

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings

_By = Annotated[str, typer.Option(help="Who says so; kept in ops.gates.")]
_Reason = Annotated[str, typer.Option(help="Why; kept in ops.gates.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(release)
    app.command()(replay)


def release(by: _By, reason: _Reason) -> None:
    """Publish rows that the gate holds back, although they are not as expected."""
    from millrace.local.requests.engine_commands import RELEASE

    carry_out(RELEASE, by, reason, then=["publish"])


class _Replayed(str, Enum):
    RECORDS = "records"
    SHED = "shed"


def replay(
    what: Annotated[_Replayed, typer.Argument(help="records of bronze, or shed events of collectors.")] = (
        _Replayed.RECORDS
    ),
    by: _By = "",
    reason: _Reason = "replayed by the rules of now",
    source: Annotated[str | None, typer.Option(help="Of shed events: those of one source.")] = None,
) -> None:
    """Rebuild silver from bronze by the current rules and code, then evaluate the held rows again.

    Includes rejected records. If the held rows are as expected now, the gate opens; gold is rebuilt where
    published rows have changed.

    `millrace replay shed` returns events that this home's collectors set aside under overload to their
    logs, which forward them to Kafka.
    """
    if what is _Replayed.SHED:
        _replay_shed(source)
        return
    if source is not None:
        raise MillraceError("--source is of shed events", f"millrace replay shed --source {source}")
    from millrace.local.requests.engine_commands import REPLAY

    carry_out(REPLAY, by or getpass.getuser(), reason, then=["publish"])


def _replay_shed(source: str | None) -> None:
    from intake.log.accounts import read_accounts, replay_shed
    from intake.log.place import log_files

    files = log_files(load_settings().home)
    known = sorted({account.source for file in files.values() for account in read_accounts(file)})
    if source is not None and source not in known:
        raise MillraceError(
            f"no collector of this home knows a source {source}", f"It has {', '.join(known) or 'none'}"
        )
    for node, file in files.items():
        typer.echo(f"{node}: {replay_shed(file, source):,} shed events go to Kafka")


def carry_out(command: str, *names: str, first: Sequence[str] = (), then: Sequence[str] = ()) -> None:
    """Execute a command: in a catalog's session, in the running engine, or here between some jobs."""
    from millrace.local.engine.run_once import run_once
    from millrace.local.requests.command_client import engine_runs, execute_in_engine
    from millrace.local.requests.engine_commands import RUN, EngineCommand

    settings = load_settings()
    order = EngineCommand(command, names)
    if settings.catalog:
        from millrace.operations.session import run_on_catalog

        run_on_catalog(settings, order)
    elif engine_runs(settings):
        execute_in_engine(
            settings, order, Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print
        )
    else:
        before, after = (EngineCommand(RUN, list(jobs)).jobs() for jobs in (first, then))
        run_once(settings, [*before, *order.jobs(), *after])
