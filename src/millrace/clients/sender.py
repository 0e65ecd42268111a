"""Sends records to Kafka, each exactly once, and tracks their acknowledgements."""

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
"""Maximum wait for an acknowledgement: longer than a restart of the broker."""

_FAREWELL_SECONDS = 5
"""Seconds to wait for outstanding acknowledgements when the user stops the client."""

_PENDING_RECORDS = 20_000
_PENDING_BYTES = 64 << 20
"""Maximum bytes without acknowledgement: enough to keep the broker busy, within bounded memory."""

_BATCH_BYTES = 1_000_000
_OVERHEAD = 4096
"""Maximum bytes that a batch adds to a record; compression may enlarge it slightly."""


class Sender:
    """Sends records to Kafka and counts acknowledgements in the manifest, in the caller's thread.

    The producer is idempotent, waits for all replicas and compresses with zstd. A record that
    exceeds the topic's limit is passed to `on_refused`; any other failure ends the run.

    Args:
        bootstrap: Kafka, as host:port.
        manifest: counts acknowledged records; each record has its id in a header.
        on_refused: called with each record that is too large.
        ack_timeout: maximum wait for a record's acknowledgement.
        login: options of the connection.

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
        """Close the producer, and count records without acknowledgement as unconfirmed."""
        self._producer.close(timeout=0)
        for future, record in self._pending:
            if future.succeeded():
                self._confirm(future, record)
            else:
                self._manifest.unconfirmed += 1
        self._pending.clear()

    def send(self, record: Record) -> None:
        """Send a record. Blocks while too many records wait for acknowledgement."""
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
            # Checked by the client: if the broker refuses a record, the idempotent producer ends.
            self._on_refused(record)
        else:
            self._pending.append((future, record))
            self._pending_bytes += len(record.value)

    def collect_acks(self) -> None:
        """Count records that were acknowledged since the last call."""
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
        """Wait until all records are acknowledged; if hurried, at most 5 seconds."""
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
            if not future.is_done:  # otherwise `collect_acks` raises it
                raise


class _Producer(KafkaProducer):  # type: ignore[misc]
    """A producer that always closes: kafka-python's stays open if its last flush times out."""

    def flush(self, timeout: float | None = None) -> None:
        """Flush without an error on timeout, since `Sender` tracks unsent records."""
        with suppress(KafkaTimeoutError):
            super().flush(timeout)


def _producer(bootstrap: str, ack_timeout_ms: int, largest: int, login: Login) -> KafkaProducer:
    return _Producer(
        bootstrap_servers=bootstrap,
        bootstrap_timeout_ms=CONNECT_SECONDS * 1000,
        # Set explicitly: conflicting settings are an error then; by default, they disable idempotence.
        enable_idempotence=True,
        acks="all",
        # Large batches: measured 1.7 times as fast as 64 KiB ones, since fewer are queued.
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
    """Kafka's default partitioner with a cache, since hashing costs more than the rest of a send."""

    @lru_cache(maxsize=65_536)
    def partition_of(key: bytes) -> int:
        return partitions[int(murmur2(key) & 0x7FFFFFFF) % len(partitions)]

    return partition_of
