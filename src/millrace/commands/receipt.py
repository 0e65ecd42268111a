"""`millrace receipt`: where the events of a request to the collector are now."""

import json
from typing import Annotated

import typer

from lakehouse.settings import load_settings


def receipt(
    wanted: Annotated[
        str, typer.Argument(metavar="ID", help="The header Millrace-Receipt of the collector's answer.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object an event, one a line.")] = False,
) -> None:
    """Show where the events of a request are: in the collector's log, in Kafka, in bronze, or in silver.

    Of an event in silver: whether it is an event, a duplicate or rejected, and its conversion.
    """
    from millrace.explain.receipt import follow_receipt

    for place in follow_receipt(load_settings(), wanted):
        if as_json:
            typer.echo(json.dumps(place.as_dict(), default=str))
            continue
        where = "" if place.offset is None else f"  partition {place.partition}, offset {place.offset}"
        details = "".join(f"  {name} {value}" for name, value in (place.details or {}).items())
        typer.echo(f"{place.state}{where}{details}")
