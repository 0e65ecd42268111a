"""One run of a client: sends the records of a source, and counts them in a manifest."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from time import monotonic

from kafka.errors import KafkaError, KafkaTimeoutError

from bronze.kafka_auth import PLAINTEXT, Login
from lakehouse.errors import MillraceError
from millrace.clients.manifest import Manifest
from millrace.clients.record import Record
from millrace.clients.sender import ACK_TIMEOUT, Sender
from millrace.clients.topic import NEXT_STEP
from millrace.shutdown_signal import ShutdownSignal, StoppedError

MANIFEST_SECONDS = 5.0
"""Seconds between two updates of a running client's manifest."""

_TICK_SECONDS = 0.1


def deliver(
    records: Iterable[Record],
    manifest: Manifest,
    bootstrap: str,
    stop: ShutdownSignal,
    *,
    endless: bool = False,
    on_tick: Callable[[], None] = lambda: None,
    on_refused: Callable[[Record], None] = lambda _: None,
    ack_timeout: timedelta = ACK_TIMEOUT,
    login: Login = PLAINTEXT,
) -> None:
    """Send all records. The manifest has all acknowledged records, even after an error.

    Args:
        records: the source; it may pause, and should end soon after `stop`.
        manifest: written at intervals, and closed at the end.
        bootstrap: Kafka, as host:port.
        stop: ends the run after the current record.
        endless: whether a stop is the regular end of the source, so that the manifest is complete.
        on_tick: called about ten times a second, e.g. to update a progress bar.
        on_refused: called with each record that is too large for the topic.
        ack_timeout: time without an answer after which a broker counts as gone.
        login: options of the connection.

    Raises:
        MillraceError: if no broker answers, or it goes away.
    """
    exhausted = False
    try:
        with Sender(bootstrap, manifest, on_refused, ack_timeout, login) as sender:
            exhausted = _send_all(records, sender, manifest, stop, on_tick)
            sender.finish(hurried=stop.requested)
            on_tick()
    except KafkaError as error:
        raise _broker_gone(bootstrap, manifest, error) from error
    finally:
        manifest.close(whole=exhausted or (endless and stop.requested))


def _send_all(
    records: Iterable[Record],
    sender: Sender,
    manifest: Manifest,
    stop: ShutdownSignal,
    on_tick: Callable[[], None],
) -> bool:
    """Send until the source ends (True) or the user stops (False)."""
    next_tick = next_write = monotonic()
    try:
        for record in records:
            sender.send(record)
            now = monotonic()
            if now >= next_tick:
                next_tick = now + _TICK_SECONDS
                on_tick()
            if now >= next_write:
                next_write = now + MANIFEST_SECONDS
                manifest.write()
            if stop.requested:
                return False
    except StoppedError:
        return False
    return not stop.requested


def _broker_gone(bootstrap: str, manifest: Manifest, error: KafkaError) -> MillraceError:
    reason = "no answer in time" if isinstance(error, KafkaTimeoutError) else type(error).__name__
    return MillraceError(
        f"the Kafka broker at {bootstrap} went away ({reason}): {manifest.records:,} records "
        f"are confirmed, {manifest.unconfirmed:,} are not, see {manifest.path}",
        f"{NEXT_STEP}; then send again: what arrives twice is dropped",
    )
