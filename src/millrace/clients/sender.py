"""Sending records to Kafka, each exactly once, and knowing which ones arrived."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from time import monotonic
from types import TracebackType
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError, MessageSizeTooLargeError
from kafka.partitioner.default import murmur2

from bronze.kafka_auth import PLAINTEXT, Login
from millrace.clients.checksum import value_digest
from millrace.clients.manifest import HEADER, Manifest
from millrace.clients.record import Record
from millrace.clients.topic import CONNECT_SECONDS, ensure_topic

ACK_TIMEOUT = timedelta(seconds=20)
"""How long a record may wait for its acknowledgement: a broker that restarts is back sooner."""

_FAREWELL_SECONDS = 5
"""How long the records on their way are waited for when the user stops the client."""

_PENDING_RECORDS = 20_000
_PENDING_BYTES = 64 << 20
"""What may wait for acknowledgement: enough to keep the broker busy, and a bound on memory."""

_BATCH_BYTES = 1_000_000
_OVERHEAD = 4096
"""What a batch adds to a record at most: compression may make it a little larger."""


class Sender:
    """Sends records to Kafka and counts acknowledgements in the manifest, in the caller's thread.

    The producer is idempotent, waits for all replicas and compresses with zstd. A record
    larger than the topic takes goes to `on_refused`; any other failure ends the sending.

    Args:
        bootstrap: Kafka, as host:port.
        manifest: counts what is acknowledged; its id travels in a header of each record.
        on_refused: is given each record that is too large.
        ack_timeout: how long a record may wait for its acknowledgement.
        login: how to talk to Kafka.

    Raises:
        MillraceError: if no broker answers at the start.
        KafkaError: from any method, if the broker went away; leave the context then.
    """

    def __init__(
        self,
        bootstrap: str,
        manifest: Manifest,
        on_refused: Callable[[Record], None],
        ack_timeout: timedelta = ACK_TIMEOUT,
        login: Login = PLAINTEXT,
    ) -> None:
        limit, manifest.topic_id = ensure_topic(bootstrap, manifest.topic, login)
        largest = max(limit - _OVERHEAD, limit // 2)
        self._manifest = manifest
        self._on_refused = on_refused
        self._headers = [(HEADER, manifest.id.encode())]
        self._pending: deque[tuple[Any, Record]] = deque()
        self._pending_bytes = 0
        self._ack_timeout = ack_timeout.total_seconds() + _FAREWELL_SECONDS
        self._producer = _producer(bootstrap, round(ack_timeout.total_seconds() * 1000), largest, login)
        self._partition_of = _partitioner(sorted(self._producer.partitions_for(manifest.topic)))

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        """Give up what is still on its way, and count it as unconfirmed."""
        self._producer.close(timeout=0)
        for future, record in self._pending:
            if future.succeeded():
                self._confirm(future, record)
            else:
                self._manifest.unconfirmed += 1
        self._pending.clear()

    def send(self, record: Record) -> None:
        """Hand a record over; waits while too much is on its way."""
        self.collect_acks()
        while len(self._pending) >= _PENDING_RECORDS or self._pending_bytes >= _PENDING_BYTES:
            self._await_oldest(self._ack_timeout)
            self.collect_acks()
        try:
            future = self._producer.send(
                self._manifest.topic,
                record.value,
                key=record.key,
                headers=self._headers,
                partition=None if record.key is None else self._partition_of(record.key),
            )
        except MessageSizeTooLargeError:
            # Found here: an answer of the broker's that one record is too large ends an idempotent producer.
            self._on_refused(record)
        else:
            self._pending.append((future, record))
            self._pending_bytes += len(record.value)

    def collect_acks(self) -> None:
        """Count what has been acknowledged since the last time."""
        pending = self._pending
        while pending and pending[0][0].is_done:
            future, record = pending[0]
            if future.exception is None:
                self._confirm(future, record)
            else:
                raise future.exception
            pending.popleft()
            self._pending_bytes -= len(record.value)

    def finish(self, hurried: bool) -> None:
        """Wait until all is acknowledged; when hurried, a few seconds at most."""
        deadline = monotonic() + (_FAREWELL_SECONDS if hurried else self._ack_timeout)
        self.collect_acks()
        while self._pending:
            self._await_oldest(deadline - monotonic())
            self.collect_acks()

    def _confirm(self, future: Any, record: Record) -> None:
        self._manifest.confirm(value_digest(record.value), future.value.partition, future.value.offset)

    def _await_oldest(self, seconds: float) -> None:
        future = self._pending[0][0]
        try:
            future.get(timeout=max(seconds, 0))
        except KafkaError:
            if not future.is_done:  # else `collect_acks` handles it
                raise


class _Producer(KafkaProducer):  # type: ignore[misc]
    """One that can be closed at once: kafka-python's stays open when its last flush runs out of time."""

    def flush(self, timeout: float | None = None) -> None:
        """Send what is left, in that time; `Sender` knows what was not."""
        with suppress(KafkaTimeoutError):
            super().flush(timeout)


def _producer(bootstrap: str, ack_timeout_ms: int, largest: int, login: Login) -> KafkaProducer:
    return _Producer(
        bootstrap_servers=bootstrap,
        bootstrap_timeout_ms=CONNECT_SECONDS * 1000,
        # Said aloud, a setting that conflicts is an error; left to the default, it ends idempotence quietly.
        enable_idempotence=True,
        acks="all",
        # Big batches: measured 1.7 times as fast as 64 KiB ones, as fewer are waiting in turn.
        compression_type="zstd",
        batch_size=min(_BATCH_BYTES, largest),
        linger_ms=50,
        max_request_size=largest,
        max_block_ms=ack_timeout_ms,
        delivery_timeout_ms=ack_timeout_ms,
        request_timeout_ms=ack_timeout_ms // 2,
        reconnect_backoff_max_ms=1000,
        metrics_enabled=False,
        **login,
    )


def _partitioner(partitions: list[int]) -> Callable[[bytes], int]:
    """Kafka's own choice of partition for a key, remembered: it costs more than the rest of a send."""

    @lru_cache(maxsize=65_536)
    def partition_of(key: bytes) -> int:
        return partitions[int(murmur2(key) & 0x7FFFFFFF) % len(partitions)]

    return partition_of
