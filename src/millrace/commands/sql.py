"""`millrace sql`: queries the tables without a JVM."""

from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def sql(
    query: Annotated[str, typer.Argument(help='A query, as "SELECT count(*) FROM silver.sessions".')],
    csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows, one JSON object a line.")] = False,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="RECEIPT", help="Wait until publish has processed a receipt."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="With --after: how many seconds to wait.")] = 60,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="POSITION",
            help="Read all tables as of one position: a time, an ingest stamp, or `latest`, as the pages do.",
        ),
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="Role of conf/access.yml to read as; without one, all is shown.")
    ] = None,
) -> None:
    """Query the tables in DuckDB's SQL, as layer.table, without Spark or Java.

    Prints the first 200 rows; with --csv or --json, all.
    """
    from millrace.tables.reading_role import role_of
    from millrace.tables.recorded_query import run_recorded
    from millrace.terminal.rows import print_json_lines, print_rows, with_nested_as_text

    if not query.strip().rstrip(";"):
        raise MillraceError("the query is empty", 'As an example: millrace sql "SHOW TABLES"')
    settings = load_settings(role=role)
    reader = role_of(settings)
    if after:
        from millrace.explain.receipt import wait_for_receipt

        wait_for_receipt(settings, after, timeout, lambda where: typer.echo(f"Waiting: {where}", err=True))
    position = None
    if as_of:
        from lakehouse.readers.open_tables import open_tables
        from lakehouse.readers.positions import find_position
        from lakehouse.timestamps import from_micros, rfc3339

        position = find_position(open_tables(settings), as_of)
        typer.echo(f"As of {rfc3339(from_micros(position))} ({position})", err=True)
    answer = run_recorded(settings, query, reader, position)
    if csv:
        typer.echo(with_nested_as_text(answer).write_csv(), nl=False)
    elif as_json:
        print_json_lines(answer)
    else:
        print_rows(answer)
