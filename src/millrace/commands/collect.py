"""`millrace collect`: takes events by HTTP, as Segment's and RudderStack's clients send them."""

from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(collect)


def collect(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8787,
    address: Annotated[str, typer.Option(help="IP address to listen on.")] = "127.0.0.1",
) -> None:
    """Take events by HTTP from Segment's and RudderStack's clients, until Ctrl-C.

    An event is acknowledged (status 200) once it is on disk, and forwarded to Kafka from there; while
    Kafka is away, events wait. While conf/sources.yml has no sources, only this machine may send.
    """
    from confluent_kafka import Producer

    from bronze.kafka_auth import client_options
    from intake.forwarder import make_producer
    from intake.server import Served, serve
    from intake.sources import load_sources
    from millrace.clients.topic import ensure_topic
    from millrace.local.process.ports import require_free

    settings = load_settings()
    sources = load_sources(settings.conf)
    if not sources.declared and address not in ("127.0.0.1", "::1"):
        raise MillraceError(
            f"no source is declared, so nobody could send to {address}",
            "Declare sources in conf/sources.yml: docs/collect.md",
        )
    require_free(port, "the collector", "Choose another with --port {free}")
    typer.echo(f"Collector  http://{address}:{port}/v1/batch  Ctrl-C stops it.")
    login = client_options(settings)

    def connect() -> Producer:
        ensure_topic(settings.bootstrap, settings.events_topic, login)
        return make_producer(settings.bootstrap, login)

    serve(Served(address, port, settings.home / "collect", settings.events_topic, connect), sources)
