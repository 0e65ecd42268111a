"""`millrace watch`: follows changes of a table or query."""

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings

if TYPE_CHECKING:
    from lakehouse.access.role import Role
    from millrace.shutdown_signal import ShutdownSignal
    from serving.sources.cursor import Cursor
    from serving.sources.position_file import PositionFile
    from serving.sources.query_source import QuerySource
    from serving.sources.row_changes import ChangeGroup
    from serving.sources.table_source import TableSource

_LEAST_INTERVAL = 0.05


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(watch)


def watch(
    watched: Annotated[
        str, typer.Argument(metavar="TABLE_OR_SELECT", help='A table, or a query, as "SELECT …".')
    ],
    changes: Annotated[
        bool, typer.Option("--changes", help="Print each change as a JSON line, and positions.")
    ] = False,
    start: Annotated[
        str, typer.Option("--from", metavar="VERSION|now|start", help="With --changes: where to begin.")
    ] = "start",
    resume: Annotated[
        Path | None, typer.Option(help="With --changes: keep the position in this file, and go on from it.")
    ] = None,
    caused_by: Annotated[
        bool, typer.Option("--caused-by", help="With --changes of a table: add what caused each change.")
    ] = False,
    interval: Annotated[float, typer.Option(min=_LEAST_INTERVAL, help="Seconds between two looks.")] = 1.0,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="POSITION",
            help="With --changes: begin with the rows as of a position, as of `millrace sql`.",
        ),
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="Role of conf/access.yml to read as; without one, all is shown.")
    ] = None,
) -> None:
    """Follow a table or a query until Ctrl-C, without Spark or Java.

    Shows the result and renews it when a table has a new version. With --changes, prints what changed as
    JSON lines, beginning with a snapshot; --from now leaves it out, --from VERSION begins after a version
    of the table.
    """
    from millrace.shutdown_signal import ShutdownSignal

    settings = load_settings(role=role)
    if not changes and (resume or caused_by or as_of or start != "start"):
        raise MillraceError(
            "--from, --resume, --caused-by and --as-of are for changes",
            "Add --changes; `millrace sql --as-of` shows a result",
        )
    if as_of and start != "start":
        raise MillraceError("--as-of and --from both say where to begin", "Give one of them")
    if caused_by and len(watched.split()) > 1:
        raise MillraceError(
            "changes of a query have no causes of their own", "Watch a table, or leave out --caused-by"
        )
    with ShutdownSignal().on_signals() as stop:
        if changes:
            _print_changes(settings, watched, start, resume, caused_by, interval, stop, as_of)
        else:
            _show(settings, watched, interval, stop)


def _print_changes(
    settings: Settings,
    watched: str,
    start: str,
    resume: Path | None,
    caused_by: bool,
    interval: float,
    stop: "ShutdownSignal",
    as_of: str | None = None,
) -> None:
    from lakehouse.readers.open_tables import open_tables
    from lakehouse.readers.positions import snapshot_versions
    from millrace.tables.reading_role import role_of
    from serving.sources.cursor import Cursor
    from serving.sources.position_file import Position, PositionFile

    role = role_of(settings)
    reader = "" if role is None else f", as {role.name} {role.fingerprint}"
    file = PositionFile(resume, f"{watched}{reader}") if resume else None
    known = file.load() if file else None
    source = _source(settings, watched, start, caused_by, role)
    begin = Position({watched: int(start)} if start.isdecimal() else {}, {})
    at = snapshot_versions(open_tables(settings), as_of, source.tables) if as_of else None
    cursor = Cursor(source, *(known or begin), at)
    try:
        if known is None and start == "now":
            cursor.skip()
        _begin(cursor, file, stop)
        while not stop.requested:
            for group in cursor.poll():
                if not _write(group, cursor, file, stop):
                    return
            stop.pause(interval)
    except BrokenPipeError:  # the reader has ended: write nothing more, not even on exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _source(
    settings: Settings, watched: str, start: str, caused_by: bool, role: "Role | None"
) -> "TableSource | QuerySource":
    """The source of the table or query. Raises an error if `start` is not a valid start."""
    from lakehouse.access.mask_key import MaskKey
    from lakehouse.access.policy import ADMIN
    from lakehouse.access.role import Role
    from lakehouse.readers.open_tables import open_tables
    from serving.sources.query_source import QuerySource
    from serving.sources.table_source import TableSource, view_of

    if start not in ("now", "start") and not start.isdecimal():
        raise MillraceError(f"--from {start} is no version", "Take a number, now or start")
    if len(watched.split()) > 1:
        if start.isdecimal():
            raise MillraceError("a query has no version to begin after", "Take --from now or start")
        from serving.admission import admit

        return QuerySource(open_tables(settings), admit(watched, role), role)
    view = view_of(role or Role(ADMIN, MaskKey(settings.home)), watched)
    causes = None
    if caused_by:
        from serving.causes.causes import Causes

        if role is not None and not role.is_unrestricted:
            raise MillraceError(
                f"causes name events as they are, which role {role.name} may not see", "Leave out --caused-by"
            )
        causes = Causes(settings)
    return TableSource(open_tables(settings), view, causes=causes)


def _begin(cursor: "Cursor", file: "PositionFile | None", stop: "ShutdownSignal") -> None:
    """Write the start position; readers discard lines of a killed watch before it."""
    from serving.sources.row_changes import ChangeGroup

    output = os.fstat(sys.stdout.fileno())
    if stat.S_ISREG(output.st_mode) and output.st_size:
        sys.stdout.write("\n")  # the last line may be cut off
    _write(ChangeGroup((), cursor.position), cursor, file if cursor.position else None, stop)


def _write(
    group: "ChangeGroup", cursor: "Cursor", file: "PositionFile | None", stop: "ShutdownSignal"
) -> bool:
    """Write a group, then its position. False after a signal: without a position, the group is repeated."""
    for line in group.lines():
        if stop.requested:
            return False
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    if file:
        file.save(group.position, cursor.table_ids)
    return True


def _show(settings: Settings, watched: str, interval: float, stop: "ShutdownSignal") -> None:
    import polars as pl
    from rich.console import Console
    from rich.live import Live

    from lakehouse.readers.open_tables import open_tables
    from lakehouse.readers.versioned_tables import latest_versions
    from millrace.tables.reading_role import role_of
    from millrace.terminal.rows import as_table, print_rows
    from serving.admission import admit
    from serving.sources.query_result import compute

    text = watched if len(watched.split()) > 1 else f"SELECT * FROM {watched}"
    role, console = role_of(settings), Console(highlight=False)
    query, tables, shown = admit(text, role), open_tables(settings), None
    with Live(console=console, auto_refresh=False) as live:
        while not stop.requested:
            latest = latest_versions(tables, query.tables, shown)
            if latest is not None and latest != shown:
                answer, shown = pl.DataFrame(compute(tables, query, latest, role)), latest
                if console.is_terminal:
                    live.update(as_table(answer, latest), refresh=True)
                else:
                    print_rows(answer)
            stop.pause(interval)
