"""`millrace visitors`: estimates distinct visitors and order values of any period from sketches."""

from datetime import datetime
from typing import Annotated

import typer

from lakehouse.settings import load_settings


def visitors(
    by: Annotated[
        str, typer.Option(help="Dimensions, comma-separated: day, month, channel, source, medium, campaign.")
    ] = "channel",
    first: Annotated[
        datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First day, as 2026-11-01.")
    ] = None,
    last: Annotated[
        datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day, included.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """Count distinct visitors and orders of any period, with bounds, from sketches.

    Also the median and the 90th percentile of order values. The true number is between at_least and
    at_most in 95 of 100 cases.
    """
    from millrace.tables.sketch_reader import visitors_by
    from millrace.terminal.rows import print_json_lines, print_rows

    names = [name for name in by.replace(" ", "").split(",") if name]
    days = (None if day is None else day.date() for day in (first, last))
    answer = visitors_by(load_settings(), names, *days)
    if answer.is_empty() and not as_json:
        typer.echo("No sessions in this period.")
    elif as_json:
        print_json_lines(answer)
    else:
        print_rows(answer)
