"""`millrace trace`: walks from a row of silver or gold to records of bronze and offsets in Kafka."""

import json
from typing import Annotated

import typer

from lakehouse.settings import load_settings

_SHOWN = 20  # records of each part


def trace(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Table of silver or gold, as layer.table.")],
    key: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY...", help="Values of its key in order, or the first of them; `null` for no value."
        ),
    ],
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare the bytes in bronze with those in Kafka.")
    ] = False,
    all_records: Annotated[bool, typer.Option("--all", help="Show all records.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all, one JSON object a line.")] = False,
) -> None:
    """Show the records from which a row is computed: coordinates in Kafka, time received, raw bytes.

    Fails if --compare finds a record that differs, or that Kafka should have and lacks.
    """
    from millrace.tables.table_scan import reading
    from millrace.trace.in_kafka import GONE, SAME, compare_with_kafka
    from millrace.trace.records import trace as trace_rows
    from millrace.trace.render import as_dict, as_lines

    settings = load_settings()
    with reading(settings):
        found = trace_rows(settings, table, key)
        in_kafka = compare_with_kafka(settings, found.records) if compare else {}
    if as_json:
        for record in found.records:
            typer.echo(json.dumps(as_dict(record, in_kafka), ensure_ascii=False))
    else:
        for line in as_lines(found, in_kafka, len(found.records) if all_records else _SHOWN):
            typer.echo(line)
    if in_kafka:
        wrong = [state for state in in_kafka.values() if state not in (SAME, GONE)]
        typer.echo(f"{len(in_kafka):,} records compared, {len(wrong):,} not as in Kafka", err=True)
        if wrong:
            raise typer.Exit(1)
