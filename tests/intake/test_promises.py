"""Watermark promises of sources are parsed, forwarded in order, ended by leases and applied by silver."""

import http.client
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from intake.log.entries import Write
from intake.log.message_log import MessageLog, UnavailableError
from intake.promises import END, Leases, read_promise
from intake.segment_requests import BadRequestError
from intake.sources import Source
from kit.collecting import ONE_SOURCE, Node, accounts_of, collector, with_sources
from kit.home import JOBS, Home
from kit.polling import eventually
from kit.sending import in_topic
from millrace.local.process.ports import stable_port

BEGIN = datetime(2026, 11, 2, 10, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "promise"),
    [
        (None, None),
        ("end", "end"),
        ("2026-11-02T10:00:00Z", "2026-11-02T10:00:00.000000Z"),
        ("2026-11-02T12:00:00.5+02:00", "2026-11-02T10:00:00.500000Z"),
    ],
)
def test_promise_is_parsed_as_utc_time_or_end(text: str | None, promise: str | None) -> None:
    assert read_promise(text) == promise


@pytest.mark.parametrize("text", ["", "soon", "2026-11-02", "1793606400", "0001-01-01T00:00:00+01:00"])
def test_malformed_promise_is_rejected(text: str) -> None:
    with pytest.raises(BadRequestError):
        read_promise(text)


def test_promise_of_a_source_that_makes_none_is_rejected(new_home: Callable[..., Home]) -> None:
    home, port = with_sources(new_home(), ONE_SOURCE), stable_port()
    promise = {"Millrace-Promise": "2026-11-02T10:00:00Z"}
    with collector(home, port) as node:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for path, body in (("/v1/promise?writeKey=key", ""), ("/v1/track?writeKey=key", '{"userId": "u"}')):
            connection.request("POST", path, body, promise)
            answer = connection.getresponse()
            assert (answer.status, b"makes no promises" in answer.read()) == (400, True)
        connection.close()
        node.wait_until_ready()
    assert accounts_of(home) == {}


def test_lease_expires_once_and_survives_restart(tmp_path: Path) -> None:
    now, lease = 0.0, timedelta(seconds=10)
    source = Source(name="a", key_sha256=("0" * 64,))

    def leases(log: MessageLog) -> Leases:
        return Leases(log, lambda _name: lease, lambda: now)

    log = MessageLog(tmp_path / "messages.db")
    log.append(Write(source="a", promise="2026-11-02T10:00:00Z")).result()
    leases(log).note(source, "2026-11-02T10:00:00Z")
    log.close()
    log = MessageLog(tmp_path / "messages.db")
    held = leases(log)
    for now, promises in ((9.0, 1), (10.0, 2), (20.0, 2)):  # noqa: B007 - the leases read it
        held.end_expired()
        log.append(Write()).result()
        assert len(log.pending(0, 10)) == promises
    assert [each.promise for each in log.pending(0, 10)][-1] == END
    held.note(source, "2026-11-02T10:00:00Z")
    held.note(source, END)
    now = 99.0
    held.end_expired()
    log.append(Write()).result()
    assert len(log.pending(0, 10)) == 2
    log.close()


def test_end_of_lease_is_written_again_after_a_failed_commit() -> None:
    class FullLog:
        held_leases = ("a",)
        writes: list[tuple[Write, Future[None]]] = []  # noqa: RUF012

        def append(self, write: Write) -> "Future[None]":
            self.writes.append((write, Future()))
            return self.writes[-1][1]

    log: Any = FullLog()
    leases = Leases(log, lambda _name: timedelta(0), lambda: 1.0)
    for error in (UnavailableError("full"), UnavailableError("full"), None):
        leases.end_expired()
        leases.end_expired()
        log.writes[-1][1].set_exception(error) if error else log.writes[-1][1].set_result(None)
    leases.end_expired()
    assert [write for write, _ in log.writes] == [Write(source="a", promise=END)] * 3


def sources_of(leases: dict[str, str], more: str = "") -> str:
    return "sources:\n" + "".join(
        f"  - {{name: {name}, key_sha256: {sha256(name.encode()).hexdigest()}, "
        f"promises: true, lease: {lease}{more}}}\n"
        for name, lease in leases.items()
    )


def send(node: Node, source: str, promise: str | None, times: Sequence[datetime] = ()) -> None:
    """Send events at these times, and a promise."""
    batch = [
        {"type": "track", "event": "A", "userId": source, "timestamp": at.isoformat(), "n": number}
        for number, at in enumerate(times)
    ]
    headers = {"Millrace-Promise": promise} if promise else {}
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=10)
    path = f"/v1/{'batch' if batch else 'promise'}?writeKey={source}"
    connection.request("POST", path, json.dumps({"batch": batch}), headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    connection.close()


def promises_in(home: Home) -> list[tuple[str, str]]:
    """The promises in the topic, in order."""
    found: list[dict[str, Any]] = [
        dict(each.headers) for each in in_topic(home.settings) if each.value is None
    ]
    return [(headers["source"].decode(), headers["promise"].decode()) for headers in found]


def text_of(promise: datetime) -> str:
    return promise.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def wait_for_promise(home: Home, source: str, promise: str) -> None:
    """Wait until the topic has the promise: the collector's counts are of events only."""
    sent = (f"{source}@main", promise)
    eventually(lambda: sent in promises_in(home), 60, f"a promise of {source}")


def test_promise_is_forwarded_after_its_events_and_ends_with_its_lease(new_home: Callable[..., Home]) -> None:
    home = with_sources(new_home(), sources_of({"brief": "PT1S", "long": "PT1H"}))
    with collector(home, stable_port()) as node:
        send(node, "long", "2026-11-02T10:00:00Z", [BEGIN] * 50)
        send(node, "brief", "2026-11-02T10:00:00Z")
        wait_for_promise(home, "brief", END)
        send(node, "long", END)
        wait_for_promise(home, "long", END)
    at = text_of(BEGIN)
    promises = promises_in(home)
    assert sorted(promises[:2]) == [("brief@main", at), ("long@main", at)]
    assert promises[2:] == [("brief@main", END), ("long@main", END)]
    records = in_topic(home.settings)
    latest_event = max(record.timestamp for record in records if record.value is not None)
    assert all(record.timestamp >= latest_event for record in records if record.value is None)


@pytest.mark.parametrize("way", ["acknowledge: kafka", "delivery: at_most_once"])
def test_unlogged_source_may_promise_without_events(new_home: Callable[..., Home], way: str) -> None:
    home = with_sources(new_home(), sources_of({"direct": "PT1H"}, f", {way}"))
    with collector(home, stable_port()) as node:
        send(node, "direct", "2026-11-02T10:00:00Z")
        eventually(lambda: promises_in(home) == [("direct@main", "2026-11-02T10:00:00.000000Z")], 20)


@pytest.mark.long
def test_watermark_follows_promises_for_any_batch_size(new_home: Callable[..., Home]) -> None:
    home = with_sources(new_home(), sources_of({"silent": "PT20S", "leaves": "PT1H", "ahead": "PT1H"}))
    minute = timedelta(minutes=1)

    def watermark() -> datetime:
        home.must("run", "ingest", "refine", "--once")
        ((reached,),) = home.sql("SELECT max(watermark) FROM ops.ledger WHERE job = 'refine'")
        return datetime.fromisoformat(reached).replace(tzinfo=timezone.utc)

    def promised(at: datetime) -> datetime:
        return at - timedelta(microseconds=1)

    seen = []
    with collector(home, stable_port()) as node:
        in_an_hour = datetime.now(timezone.utc) + timedelta(hours=1)
        for source in ("leaves", "ahead"):  # a producer joins before its first event
            send(node, source, BEGIN.isoformat())
            wait_for_promise(home, source, text_of(BEGIN))
        send(node, "silent", BEGIN.isoformat(), [BEGIN + minute])
        send(node, "leaves", (BEGIN + 2 * minute).isoformat(), [BEGIN + 3 * minute])
        send(node, "ahead", in_an_hour.isoformat(), [BEGIN + 30 * minute])
        node.wait_until_forwarded()
        wait_for_promise(home, "ahead", text_of(in_an_hour))
        seen.append(watermark())  # the lease of `silent` may have expired already
        wait_for_promise(home, "silent", END)
        seen.append(watermark())
        send(node, "leaves", END)
        wait_for_promise(home, "leaves", END)
        seen.append(watermark())
    assert seen[0] in (promised(BEGIN), promised(BEGIN + 2 * minute))
    assert seen[1] == promised(BEGIN + 2 * minute)
    assert BEGIN + 2 * minute < seen[2] < in_an_hour - timedelta(minutes=50)
    other = Home(
        home.path.parent / "other", home.bootstrap, home.topic, {"MILLRACE_MAX_BATCH_ROWS": "1"}, home.place
    )
    other.path.mkdir()
    other.must("run", *JOBS, "--once")
    ((reached,),) = other.sql("SELECT max(watermark) FROM ops.ledger WHERE job = 'refine'")
    assert datetime.fromisoformat(reached).replace(tzinfo=timezone.utc) == seen[2]
