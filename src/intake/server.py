"""Runs the collector: HTTP server, log and forwarder."""

import logging
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from confluent_kafka import Producer

from intake.admission import Admission
from intake.app import Collector
from intake.delivery import Delivery
from intake.direct_sender import DirectSender
from intake.forwarder import Forwarder
from intake.log.message_log import Budget, MessageLog
from intake.log.place import log_file
from intake.producers import direct_producer, durable_producer, once_producer
from intake.pull.puller import Puller
from intake.sources import Acknowledge
from intake.sources_file import SourcesFile
from intake.webhooks.routes import Webhooks
from lakehouse.http.body_rate import BodyRate
from lakehouse.http.connections import MOST_CONNECTIONS, LimitedProtocol
from lakehouse.http.tls import Tls

_DRAIN_SECONDS = 4.0


@dataclass(frozen=True)
class Served:
    """Settings of a collector: where it listens, and where it forwards events.

    Args:
        address: IP address to listen on.
        port: port to listen on.
        home: folder of the workspace.
        node: name of this collector among those of the topic.
        conf: folder of sources.yml.
        topic: the topic of events.
        bootstrap: Kafka, as host:port.
        login: authentication options for Kafka, named as in kafka-python.
        prepare: creates the topic if it is missing, and returns the maximum bytes of its records.
        budget: maximum bytes of waiting messages.
        capacity: events per second beyond which events of unprotected sources are refused or shed.
        acknowledge: where events are durable when they are acknowledged; None: each source's setting.
        tls: certificates; None for plain HTTP.
        pulls: whether this node reads the streams of sources.
        trusts_local: whether programs on this machine may send while no source is declared.
    """

    address: str
    port: int
    home: Path
    node: str
    conf: Path
    topic: str
    bootstrap: str
    login: Mapping[str, Any]
    prepare: Callable[[], int]
    budget: Budget
    capacity: float | None = None
    acknowledge: Acknowledge | None = None
    tls: Tls | None = None
    pulls: bool = False
    trusts_local: bool = False

    def connect(self) -> Producer:
        """Create the topic if it is missing, and return the forwarder's producer."""
        return durable_producer(self.bootstrap, self.login, self.prepare())


def serve(served: Served) -> None:
    """Serve until SIGINT or SIGTERM; then finish open requests and forward the messages in the log."""
    logging.getLogger("intake").addHandler(logging.StreamHandler())
    sources = SourcesFile(served.conf, served.acknowledge)
    log = MessageLog(log_file(served.home, served.node), served.budget)
    forwarder = Forwarder(log, served.topic, served.node, served.connect)
    forwarder.start()
    direct = DirectSender(
        log,
        served.topic,
        served.node,
        lambda: direct_producer(served.bootstrap, served.login),
        lambda: once_producer(served.bootstrap, served.login),
    )
    delivery = Delivery(log, direct, Admission(served.capacity))
    webhooks = Webhooks(delivery, sources.current).routes()
    pulling = [Puller(log, sources.current).run] if served.pulls else []
    collector = Collector(log, forwarder, delivery, sources.current, trusts_local=served.trusts_local)
    config = uvicorn.Config(
        BodyRate(collector.app(webhooks, [sources.follow, *pulling])),
        host=served.address,
        port=served.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        http=LimitedProtocol,
        timeout_graceful_shutdown=2,
        **(served.tls.options() if served.tls else {}),
    )
    server = uvicorn.Server(config)
    _stop_on_sigterm(server)
    try:
        server.run()
    finally:
        direct.stop(_DRAIN_SECONDS)
        forwarder.stop(_DRAIN_SECONDS)
        log.close()


def _stop_on_sigterm(server: uvicorn.Server) -> None:
    """Let SIGTERM only stop the server, which raises it again afterwards: that would end the process."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, server.handle_exit)
