"""`millrace serve`: the streaming API over the tables."""

from pathlib import Path
from typing import Annotated

import typer

from lakehouse.settings import load_settings

_MEGABYTE = 1 << 20


def serve(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8789,
    address: Annotated[str, typer.Option(help="IP address to listen on.")] = "127.0.0.1",
    budget: Annotated[
        float, typer.Option(min=0.1, max=16, help="Megabytes of changes that may wait for a subscriber.")
    ] = 1.0,
    send_timeout: Annotated[
        float, typer.Option(min=1, help="Seconds within which a subscriber has to take a message.")
    ] = 30.0,
    certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="PEM file of the server's certificate: HTTPS.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--tls-key", help="PEM file of its key.")] = None,
    trust_local: Annotated[
        bool | None,
        typer.Option("--trust-local", help="Let programs on this machine read without a token: for a trial."),
    ] = None,
) -> None:
    """Serve tables and queries as they change, until Ctrl-C, without Spark or Java.

    By server-sent events, WebSocket and long poll. Several servers may serve the same tables: subscribers
    go on at any of them.
    """
    from lakehouse.access.policy import load_policy
    from lakehouse.access.read_log import read_log
    from lakehouse.http.tls import Tls
    from lakehouse.readers.open_tables import open_tables
    from millrace.local.bind_policy import require_access
    from millrace.local.process.home_lock import service_lock
    from millrace.local.process.ports import require_free
    from serving.api.application import Site
    from serving.api.server import Served
    from serving.api.server import serve as run
    from serving.stream.hub import Limits
    from serving.stream.subscription import Terms
    from serving.webhooks.target import hosts_of

    settings = load_settings(trust_local=trust_local)
    if not load_policy(settings.conf, settings.home).tokens:
        problem = f"no token is declared, so nobody could read at {address}"
        next_step = "`millrace token NAME --role ROLE` makes one: docs/access.md"
        require_access(settings, address, problem, next_step)
    tables = open_tables(settings)
    require_free(port, "the streaming API", "Choose another with --port {free}")
    tls = Tls.of(certificate, key)
    url = f"{'https' if tls else 'http'}://{address}:{port}"
    typer.echo(f"Streaming API  {url}/v1/changes?table=gold.traffic  Ctrl-C stops it.")
    typer.echo(f"Live page      {url}/live")
    terms = Terms(budget=int(budget * _MEGABYTE))

    def wait(receipt: str, seconds: float) -> None:
        from millrace.explain.receipt import wait_for_receipt

        wait_for_receipt(settings, receipt, seconds, lambda _: None)

    site = Site(
        home=settings.home,
        conf=settings.conf,
        currency=settings.reporting_currency,
        zone=settings.business_time_zone,
        webhook_hosts=hosts_of(settings.webhook_hosts),
        reads=read_log(settings),
        trusts_local=settings.trust_local,
        receipts=wait if (settings.home / "collect").is_dir() else None,
    )
    with service_lock(settings.home, f"serve-{port}"):
        run(Served(address, port, tables, Limits(), terms, send_timeout, site, tls))
