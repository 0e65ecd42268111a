"""`millrace capture`: changes of the shop's PostgreSQL to Kafka."""

import signal
from functools import partial
from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def capture(
    source: Annotated[str, typer.Argument(help="Source of conf/shop.yml.")] = "shop",
    snapshot: Annotated[
        bool,
        typer.Option("--snapshot", help="Begin with a snapshot: after a lost slot, or for new tables."),
    ] = False,
) -> None:
    """Send the changes of the shop's PostgreSQL to Kafka, until Ctrl-C.

    The first time it sends a snapshot of all tables of conf/shop.yml, then the write-ahead log. `millrace up`
    runs it if the source's variable is set.
    """
    from bronze.kafka_auth import client_options
    from intake.producers import group_consumer, transactional_producer
    from millrace.clients.topic import COMPACTED, ensure_topic
    from shop.capture.change_topic import ChangeTopic
    from shop.capture.database import Database
    from shop.capture.follow import Capture
    from shop.shop_file import load_shop_rules

    settings = load_settings()
    declared = load_shop_rules(settings.conf).source(source)
    if declared.database is None:
        raise MillraceError(
            f"{declared.connection} is not set",
            "Set it to the database, as postgresql://user:password@host/database",
        )
    topic, login = settings.shop_changes_topic, client_options(settings)
    ensure_topic(settings.bootstrap, topic, login, COMPACTED)
    target = ChangeTopic(
        topic,
        f"millrace-capture-{source}-{topic}",
        partial(transactional_producer, settings.bootstrap, login),
        partial(group_consumer, settings.bootstrap, login),
    )
    work = Capture(Database(source, declared), target, snapshot)
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: work.stop.set())
    try:
        typer.echo(f"Capturing {', '.join(declared.tables)}. Ctrl-C stops it.", err=True)
        work.run()
    finally:
        target.close()
