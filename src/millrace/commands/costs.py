"""`millrace costs`: lists costs whose campaign has no visit."""

from typing import Annotated

import typer

from lakehouse.settings import load_settings


def costs(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    role: Annotated[
        str | None, typer.Option(help="Role of conf/access.yml to read as; without one, all is shown.")
    ] = None,
) -> None:
    """List campaigns with costs and no visit, each with the campaign of visits with the nearest name.

    Map their names under names in conf/costs.yml. Costs without an exchange rate are reported, too.
    """
    from millrace.tables.reading_role import role_of
    from millrace.tables.unmatched_costs import cost_report
    from millrace.terminal.rows import print_json_lines, print_rows

    settings = load_settings(role=role)
    report = cost_report(settings, role_of(settings))
    if as_json:
        if report.campaigns:
            print_json_lines(report.unmatched)
        return
    if not report.campaigns:
        typer.echo("No costs yet: millrace load FILE --format costs")
        return
    matched = report.campaigns - len(report.unmatched)
    typer.echo(f"{matched:,} of {report.campaigns:,} campaigns with costs have visits.")
    if not report.unmatched.is_empty():
        print_rows(report.unmatched)
        typer.echo(
            "Map them under names in conf/costs.yml, then: "
            "millrace rebuild silver.campaign_costs gold.campaign_performance"
        )
    for row in report.without_rate.iter_rows(named=True):
        typer.echo(
            f"{row['cost']:,.2f} {row['currency']} on {row['days']:,} days have no exchange rate: load "
            "one by `millrace load FILE --format rates`"
        )
