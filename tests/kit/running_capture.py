"""Capture of a shop's database in a thread of this process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from bronze.kafka_auth import PLAINTEXT
from intake.producers import group_consumer, transactional_producer
from kit.captured import captured_changes
from kit.polling import eventually
from kit.shop_database import SOURCE
from millrace.clients.topic import COMPACTED, ensure_topic
from shop.capture.change_topic import ChangeTopic
from shop.capture.database import Database
from shop.capture.follow import Capture
from shop.shop_file import ShopSource


@dataclass
class RunningCapture:
    """A capture in a thread.

    Args:
        bootstrap: Kafka.
        topic: where changes go.
        name: of the source; each capture of a server needs its own.
        source: its tables.
        snapshot: whether to begin with a snapshot.
    """

    bootstrap: str
    topic: str
    name: str
    source: ShopSource = SOURCE
    snapshot: bool = False
    errors: list[Exception] = field(default_factory=list)

    @property
    def group(self) -> str:
        """The consumer group that keeps the position."""
        return f"capture-{self.name}-{self.topic}"

    def run(self, stop: threading.Event) -> None:
        """Run until it is stopped, or fails."""
        ensure_topic(self.bootstrap, self.topic, PLAINTEXT, COMPACTED)
        target = ChangeTopic(
            self.topic,
            self.group,
            partial(transactional_producer, self.bootstrap, PLAINTEXT),
            partial(group_consumer, self.bootstrap, PLAINTEXT),
        )
        try:
            Capture(Database(self.name, self.source), target, self.snapshot, stop).run()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.errors.append(error)
        finally:
            target.close()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it during the block. Errors of the block's end are raised."""
        stop = threading.Event()
        thread = threading.Thread(target=self.run, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(30)

    def failed(self) -> str:
        """Run it until it fails, for a minute at most; the error."""
        stop = threading.Event()
        limit = threading.Timer(60, stop.set)
        limit.start()
        self.run(stop)
        limit.cancel()
        return str(self.errors.pop())

    def has_row(self, table: str, key: str) -> bool:
        """Whether a change of a row has arrived."""
        found = captured_changes(self.bootstrap, self.topic)
        return any(each["table"] == table and key in (each["key"] or {}).values() for each in found)

    def wait_for(self, table: str, key: str) -> None:
        """Wait until a change of a row has arrived."""
        eventually(lambda: self.errors or self.has_row(table, key), 30, f"{table} {key}")
        if self.errors:
            raise self.errors[0]
