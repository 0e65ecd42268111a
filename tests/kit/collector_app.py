"""A collector's application in the same process: its log is read instead of Kafka."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from intake.admission import Admission
from intake.app import Collector
from intake.delivery import Delivery
from intake.direct_sender import DirectSender
from intake.forwarder import Forwarder
from intake.log.message_log import MessageLog
from intake.sources import load_sources
from intake.webhooks.routes import Webhooks
from kit.parser import CONF, parse
from kit.records import Record

_MOST = 10_000


@dataclass(frozen=True)
class CollectorApp:
    """A collector without Kafka.

    Args:
        client: sends requests to it, as a program on this machine.
        log: what it would forward.
    """

    client: TestClient
    log: MessageLog

    def values(self) -> list[bytes]:
        """All events that Kafka would get, in order."""
        return [each.value for each in self.log.pending(0, _MOST) if each.value is not None]

    def events(self) -> list[dict[str, Any]]:
        """The events as decoded JSON."""
        return [json.loads(value) for value in self.values()]

    def rows(self) -> list[dict[str, Any]]:
        """The events as the record parser reads them, arriving now."""
        now = datetime.now(timezone.utc)
        return parse([Record(value, timestamp=now) for value in self.values()])


def _no_kafka() -> Any:
    raise AssertionError("nothing is sent to Kafka")


@contextmanager
def collector_app(
    folder: Path, sources: str = "sources: []", environment: Mapping[str, str] | None = None
) -> Iterator[CollectorApp]:
    """A collector with the text of its sources.yml and the secrets of webhooks.

    Args:
        folder: for its log and its sources.
        sources: the text; without sources, programs on this machine may send.
        environment: variables with secrets.
    """
    (folder / "sources.yml").write_text(sources, encoding="utf-8")
    shutil.copy(CONF / "identities.yml", folder)
    declared = load_sources(folder)
    log = MessageLog(folder / "collect" / "messages.db")
    forwarder = Forwarder(log, "events", "main", _no_kafka)
    direct = DirectSender(log, "events", "main", _no_kafka, _no_kafka)
    delivery = Delivery(log, direct, Admission(None))
    webhooks = Webhooks(delivery, lambda: declared, environment or {}).routes()
    app = Collector(log, forwarder, delivery, lambda: declared, trusts_local=True).app(webhooks)
    with TestClient(app, "http://127.0.0.1:8787", client=("127.0.0.1", 50_000)) as client:
        client.headers.clear()
        yield CollectorApp(client, log)
    log.close()
