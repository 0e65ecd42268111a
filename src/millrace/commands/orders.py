"""`millrace orders`: lists orders in which events and the shop's database differ."""

from typing import Annotated

import typer

from lakehouse.settings import load_settings


def orders(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    role: Annotated[
        str | None, typer.Option(help="Role of conf/access.yml to read as; without one, all is shown.")
    ] = None,
) -> None:
    """List orders in which events and the shop's database differ.

    Orders without an event, with several, that the shop does not have, and with another value or currency.
    """
    from millrace.tables.order_differences import order_report
    from millrace.tables.reading_role import role_of
    from millrace.terminal.rows import print_json_lines, print_rows

    settings = load_settings(role=role)
    report = order_report(settings, role_of(settings))
    if as_json:
        if report is not None:
            print_json_lines(report.different)
        return
    if report is None:
        typer.echo("No orders of the shop yet: docs/shop.md")
        return
    typer.echo(f"{report.compared - len(report.different):,} of {report.compared:,} orders agree.")
    if report.older:
        typer.echo(f"{report.older:,} orders of the first snapshot have no event.")
    if not report.different.is_empty():
        print_rows(report.different)
