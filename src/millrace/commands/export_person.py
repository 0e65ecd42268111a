"""`millrace export-person`: everything that is stored of a person."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def export_person(
    user: Annotated[str | None, typer.Option(help="User id of the person.")] = None,
    visitor: Annotated[str | None, typer.Option(help="Visitor; for its user, if it has one.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A new file; else standard output."),
    ] = None,
) -> None:
    """Export all rows of a person from all tables, over all visitors of the person, as JSON lines.

    A line has the name of the table and the row. On a shared device, rows of other users are left out.
    """
    from lakehouse.rows.row_json import row_json
    from millrace.operations.person_export import rows_of_person
    from millrace.tables.reading_role import require_privacy

    settings = load_settings()
    require_privacy(settings)
    if (user is None) == (visitor is None):
        raise MillraceError("a person is a user or a visitor", "Give either --user or --visitor")
    count = 0
    rows = rows_of_person(settings, filter(None, [user]), filter(None, [visitor]))
    with rows as found, _written(out) as write:
        for table, row in found:
            write.write(b'{"table":"%s","row":%s}\n' % (table.encode(), row_json(row)))
            count += 1
        write.flush()
    who = f"user {user}" if visitor is None else f"visitor {visitor}"
    typer.echo(f"{count:,} rows of {who}" if count else f"Nothing is stored of {who}.", err=True)
    raise typer.Exit(0 if count else 1)


@contextmanager
def _written(out: Path | None) -> Iterator[BinaryIO]:
    if out is None:
        yield sys.stdout.buffer
        return
    try:
        file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise MillraceError(f"{out} can't be written: {error.strerror}", "Name a new file") from error
    with os.fdopen(file, "wb") as opened:
        yield opened
