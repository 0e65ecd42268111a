"""Runs the collector: HTTP server, log and forwarder."""

import logging
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from intake.app import Collector
from intake.forwarder import Forwarder, MakeProducer
from intake.message_log import MessageLog
from intake.sources import Sources

_DRAIN_SECONDS = 4.0


@dataclass(frozen=True)
class Served:
    """Where the collector listens and forwards to.

    Args:
        address: IP address to listen on.
        port: port to listen on.
        folder: folder of the log.
        topic: the topic of events.
        connect: makes a producer; called again after an error of Kafka.
    """

    address: str
    port: int
    folder: Path
    topic: str
    connect: MakeProducer


def serve(served: Served, sources: Sources) -> None:
    """Serve until SIGINT or SIGTERM; then answer what is under way and forward what is in the log."""
    logging.getLogger("intake").addHandler(logging.StreamHandler())
    log = MessageLog(served.folder / "messages.db")
    forwarder = Forwarder(log, served.topic, served.connect)
    forwarder.start()
    config = uvicorn.Config(
        Collector(log, forwarder, sources).app(),
        host=served.address,
        port=served.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    try:
        uvicorn.Server(config).run()
    finally:
        forwarder.stop(_DRAIN_SECONDS)
        log.close()
