"""`millrace produce`: sends sample traffic to Kafka."""

from datetime import datetime
from typing import Annotated

import typer

from lakehouse.settings import load_settings
from millrace.sample_shop.traffic_stream import DEFAULT_SEED

_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]


def produce(
    rate: Annotated[
        float | None,
        typer.Option(
            help="Records per second in real time, until Ctrl-C or --events. Default: full speed. "
            "With --until: on average over the simulated days."
        ),
    ] = None,
    events: Annotated[
        int | None, typer.Option(help="How many records. Default: 200,000, with --rate no end.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same traffic again.")] = DEFAULT_SEED,
    start: Annotated[
        datetime | None,
        typer.Option(
            help="When the simulated days begin, RFC 3339 (UTC without an offset). Default: 2026-03-02.",
            formats=_TIMES,
            metavar="TIME",
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(
            help="When the simulated days end; with --start and --rate.", formats=_TIMES, metavar="TIME"
        ),
    ] = None,
) -> None:
    """Send the sample traffic of a small web shop to Kafka, and write a manifest of what was sent.

    Without --rate, simulated days of about 67,000 events each, at full speed. The same seed, number and start
    give the same bytes.
    """
    from millrace.clients import produce_sample

    manifest, seconds = produce_sample.produce(
        load_settings(), produce_sample.Wanted(rate, events, seed, start, until)
    )
    typer.echo(
        f"{manifest.records:,} records sent, {manifest.unconfirmed:,} unconfirmed, "
        f"{seconds:.1f} s, {manifest.records / max(seconds, 1e-9):,.0f} records/s, manifest {manifest.path}"
    )
