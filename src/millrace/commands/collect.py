"""`millrace collect`: takes events by HTTP, as Segment's and RudderStack's clients send them."""

import os
from pathlib import Path
from typing import Annotated

import typer

from intake.sources import Acknowledge, load_sources
from lakehouse.settings import load_settings


def collect(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8787,
    address: Annotated[str, typer.Option(help="IP address to listen on.")] = "127.0.0.1",
    node: Annotated[
        str, typer.Option(help="Name of this collector, if several share a home or a topic.")
    ] = "main",
    acknowledge: Annotated[
        Acknowledge | None,
        typer.Option(help="Where events are durable when they are acknowledged, whatever sources say."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="PEM file of the server's certificate: HTTPS.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--tls-key", help="PEM file of its key.")] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option("--tls-client-ca", help="PEM file of the certificates that sign those of clients."),
    ] = None,
    pull: Annotated[
        bool | None,
        typer.Option("--pull/--no-pull", help="Read the streams of sources. Default: if the node is `main`."),
    ] = None,
    trust_local: Annotated[
        bool | None,
        typer.Option(
            "--trust-local",
            help="Let programs on this machine send while no source is declared: for a trial.",
        ),
    ] = None,
) -> None:
    """Take events by HTTP from Segment's and RudderStack's clients, until Ctrl-C.

    An event is acknowledged (status 200) once it is on disk, and forwarded to Kafka from there; while
    Kafka is away, events wait. Senders are declared in conf/sources.yml.
    """
    from bronze.kafka_auth import client_options
    from intake.log.message_log import Budget
    from intake.log.place import DEFAULT_NODE, require_node
    from intake.required_secrets import require_secrets
    from intake.server import Served, serve
    from lakehouse.http.tls import Tls
    from millrace.clients.topic import ensure_topic
    from millrace.local.bind_policy import require_access
    from millrace.local.process.home_lock import service_lock
    from millrace.local.process.ports import require_free

    settings = load_settings(trust_local=trust_local)
    sources = load_sources(settings.conf)
    require_node(node)
    pulls = node == DEFAULT_NODE if pull is None else pull
    require_secrets(sources, os.environ, pulls=pulls)
    unread = [source.name for source in sources.declared if source.pull and pull is None and not pulls]
    if unread:
        typer.echo(f"This node does not read {', '.join(unread)}: start one node with --pull.", err=True)
    if not sources.declared:
        problem = f"no source is declared, so nobody could send to {address}"
        require_access(settings, address, problem, "Declare sources in conf/sources.yml: docs/collect.md")
    require_free(port, "the collector", "Choose another with --port {free}")
    tls = Tls.of(certificate, key, client_ca)
    typer.echo(f"Collector  {'https' if tls else 'http'}://{address}:{port}/v1/batch  Ctrl-C stops it.")
    login = client_options(settings)
    served = Served(
        address,
        port,
        settings.home,
        node,
        settings.conf,
        settings.events_topic,
        settings.bootstrap,
        login,
        lambda: ensure_topic(settings.bootstrap, settings.events_topic, login).largest,
        Budget(logged=settings.collector_log_bytes),
        settings.collector_capacity,
        acknowledge,
        tls,
        pulls,
        settings.trust_local,
    )
    with service_lock(settings.home, f"collect-{port}"):
        serve(served)
