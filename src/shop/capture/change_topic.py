"""Writes changes to Kafka in transactions, each with the position in PostgreSQL's log that it reaches."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from lakehouse.errors import MillraceError
from shop.capture.row_changes import ChangeRecord, lsn_of, source_of

_SECONDS = 30
_DEADLINE_SECONDS = 40
"""For a call that may not return: librdkafka ignores the timeout of `send_offsets_to_transaction` where the
group's coordinator has moved (its issues 5456 and 5511)."""
_POLL_SECONDS = 0.05
_RETRY_SECONDS = 0.2
_COORDINATOR_MOVES = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
"""Errors of a broker that has just started, or has just created its topic of offsets."""
_MOST = 50_000  # records that Kafka has not acknowledged; the producer holds 100,000


class Position(NamedTuple):
    """How far Kafka has the changes of a database.

    Args:
        lsn: it has all transactions that committed before.
        system: id of the PostgreSQL server.
        tables: the tables that are captured, each with its snapshot.
        base: added to each `lsn` of a change: a server that was restored or replaced begins with lower ones,
            and changes of a row are ordered by theirs.
    """

    lsn: int
    system: str
    tables: tuple[str, ...]
    base: int = 0


class ChangeTopic:
    """The topic of changes, as capture of one database writes it.

    Records and position are committed together: after a crash neither is without the other. A second
    capture of the same database makes the first one fail.

    Args:
        topic: its name.
        group: consumer group that keeps the position.
        make_producer: makes a transactional producer.
        make_consumer: makes a consumer of a group, which reads committed records and reports their end.

    Attributes:
        waiting: records that are not committed.

    Raises:
        MillraceError: if Kafka does not answer.
    """

    def __init__(
        self,
        topic: str,
        group: str,
        make_producer: Callable[[str], Producer],
        make_consumer: Callable[[str], Consumer],
    ) -> None:
        self._topic = topic
        self._place = TopicPartition(topic, 0)
        self._consumer = make_consumer(group)
        self._producer = make_producer(group)
        self.waiting = 0
        self._is_open = False
        try:
            self._producer.init_transactions(_SECONDS)
        except KafkaException as error:
            raise _refused(error) from error

    def position(self) -> Position | None:
        """The committed position; None if there is none."""
        found = self._committed()
        if not found.metadata:
            return None
        stored = json.loads(found.metadata)
        return Position(stored["lsn"], stored["system"], tuple(stored["tables"]), stored.get("base", 0))

    def latest_lsn_of(self, source: str) -> int | None:
        """The largest `lsn` of the committed records of a source; None if there is none.

        Raises:
            MillraceError: if Kafka does not answer.
        """
        self._consumer.assign([TopicPartition(self._topic, 0, OFFSET_BEGINNING)])
        latest = None
        try:
            for record in self._assigned_records():
                if source_of(record.key()) == source:
                    latest = max(latest or 0, lsn_of(record.value()))
        finally:
            self._consumer.unassign()
        return latest

    def send(self, records: Iterable[ChangeRecord]) -> None:
        """Send records, in order; they count once they are committed."""
        for record in records:
            if not self._is_open:
                self._begin()
            self._produce(record)
            self.waiting += 1

    def commit(self, position: Position) -> None:
        """Commit the records that were sent, and the position.

        Raises:
            MillraceError: if Kafka does not take them; none of them counts then.
        """
        if not self._is_open:
            self._begin()
        text = json.dumps(position._asdict(), separators=(",", ":"))
        place = TopicPartition(self._topic, 0, 0, text)
        metadata = self._consumer.consumer_group_metadata()
        try:
            self._with_deadline(
                lambda: self._producer.send_offsets_to_transaction([place], metadata, _SECONDS)
            )
            self._producer.commit_transaction(_SECONDS)
        except KafkaException as error:
            raise _refused(error) from error
        self._is_open, self.waiting = False, 0

    def close(self) -> None:
        """Give up what is not committed."""
        with suppress(KafkaException):
            if self._is_open:
                self._producer.abort_transaction(_SECONDS)
        self._consumer.close()

    def _with_deadline(self, call: Callable[[], object]) -> None:
        """Call the producer in a thread, and wait for `_DEADLINE_SECONDS` at most.

        Raises:
            MillraceError: if it does not return. The producer is of no use then, and the next one aborts its
                transaction.
        """
        errors: list[KafkaException] = []

        def run() -> None:
            try:
                call()
            except KafkaException as error:
                errors.append(error)

        thread = threading.Thread(target=run, name="kafka", daemon=True)
        thread.start()
        thread.join(_DEADLINE_SECONDS)
        if thread.is_alive():
            self._is_open = False
            raise MillraceError(
                f"Kafka has not taken changes of the shop for {_DEADLINE_SECONDS} s",
                "Capture starts again where it stopped",
            )
        if errors:
            raise errors[0]

    def _committed(self) -> TopicPartition:
        """The group's committed offset; waits while the group's coordinator moves or loads its offsets."""
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                return self._consumer.committed([self._place], timeout=_SECONDS)[0]
            except KafkaException as error:
                if error.args[0].code() not in _COORDINATOR_MOVES or time.monotonic() > deadline:
                    raise _refused(error) from error
            time.sleep(_RETRY_SECONDS)

    def _assigned_records(self) -> Iterator[Message]:
        """The committed records up to the end of the topic, in order."""
        while (record := self._consumer.poll(_SECONDS)) is not None:  # a tombstone is false
            error = record.error()
            if error is None:
                yield record
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                return
            else:
                raise _refused(KafkaException(error))
        raise _refused(KafkaException(KafkaError(KafkaError._TIMED_OUT)))  # noqa: SLF001

    def _begin(self) -> None:
        self._producer.begin_transaction()
        self._is_open = True

    def _produce(self, record: ChangeRecord) -> None:
        while len(self._producer) >= _MOST:
            self._producer.poll(_POLL_SECONDS)
        try:
            self._producer.produce(self._topic, value=record.value, key=record.key)
        except KafkaException as error:
            raise _refused(error) from error


def _refused(error: KafkaException) -> MillraceError:
    return MillraceError(
        f"Kafka does not take changes of the shop: {error.args[0].str() if error.args else error}",
        "Capture starts again where it stopped; is the broker running, and is this the only capture?",
    )
