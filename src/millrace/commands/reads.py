"""`millrace reads`: lists who read which table version, and who read rows that were corrected later."""

from datetime import datetime, timezone
from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings

_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"]


def reads(
    table: Annotated[str | None, typer.Option(help="Only reads of this table.")] = None,
    reader: Annotated[str | None, typer.Option(help="Only reads of this reader.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=_TIMES,
            help="Only reads from this time on, in UTC; with --corrected, only corrections committed since.",
        ),
    ] = None,
    corrected: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Only reads of rows of this table that were corrected later."),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(min=0, help="With --corrected: only corrections by commits from this version on."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows, one JSON object a line.")] = False,
) -> None:
    """List who read which table at which version, the latest first, from ops.reads.

    With --corrected, how many rows of the version that was read have been changed or deleted since.
    """
    from millrace.tables.recorded_reads import reads as recorded
    from millrace.tables.recorded_reads import reads_of_corrected
    from millrace.terminal.rows import print_json_lines, print_rows

    _check(corrected, table, version, since)
    settings = load_settings()
    _require_unrestricted(settings)
    start, unknown = None if since is None else since.replace(tzinfo=timezone.utc), ""
    if corrected is None:
        answer = recorded(settings, table, reader, start)
    else:
        answer, unknown = reads_of_corrected(settings, corrected, reader, version, start)
    if as_json:
        print_json_lines(answer)
    elif answer.is_empty():
        typer.echo("No such reads.")
    else:
        print_rows(answer)
    if unknown:
        typer.echo(unknown, err=True)


def _check(corrected: str | None, table: str | None, version: int | None, since: datetime | None) -> None:
    if corrected is None and version is not None:
        raise MillraceError("--version is for corrections", "Add --corrected TABLE")
    if corrected is not None and table is not None:
        raise MillraceError("--corrected names the table", "Leave out --table")
    if version is not None and since is not None:
        raise MillraceError("--version and --since both say which corrections count", "Give one of them")


def _require_unrestricted(settings: Settings) -> None:
    from millrace.tables.reading_role import role_of

    role = role_of(settings)
    if role is not None and not role.is_unrestricted:
        raise MillraceError(
            f"role {role.name} may not see what others read", "Unset MILLRACE_ROLE, or use sql on ops.reads"
        )
