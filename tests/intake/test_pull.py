"""Pulled streams with real servers, a real log, and a collector that is killed while it reads."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from intake.log.entries import Write
from intake.log.message_log import Budget, MessageLog, UnavailableError
from intake.log.place import log_file
from intake.pull.puller import Backoff, Puller
from intake.segment_requests import Message
from intake.sources import Sources, load_sources
from kit.collecting import accounts_of, collector, values_in, with_sources
from kit.home import Home
from kit.parser import parse
from kit.polling import eventually
from kit.records import Record
from kit.streams import Stream, sse_server, sse_text, websocket_server
from lakehouse.errors import MillraceError
from millrace.local.process.ports import stable_port

EVENTS, KILLS = 2000, 3
TOKEN = "a-token-that-is-secret"
SSE = """
  - name: feed
    pull: {{url: "{url}", token_env: FEED_TOKEN}}
    events: {{user: user}}
"""
WEBSOCKET = """
  - name: feed
    pull: {{url: "{url}", token_env: FEED_TOKEN, resume_parameter: since}}
    events: {{id: id, name: type, user: user}}
"""
Serve = Callable[..., AbstractContextManager[Stream]]
each_protocol = pytest.mark.parametrize(
    ("serve", "entry"), [(sse_server, SSE), (websocket_server, WEBSOCKET)], ids=["sse", "websocket"]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def log(folder: Path) -> Iterator[MessageLog]:
    opened = MessageLog(folder / "messages.db")
    yield opened
    opened.close()


def declared(folder: Path, entry: str, url: str) -> Sources:
    (folder / "sources.yml").write_text("sources:" + entry.format(url=url))
    return load_sources(folder)


def values(log: MessageLog) -> list[dict[str, Any]]:
    return [json.loads(each.value or b"") for each in log.pending(0, 10_000)]


def pull_until(
    log: MessageLog, sources: Callable[[], Sources], is_done: Callable[[], object], seconds: float = 20
) -> None:
    """Pull in this process until a condition holds."""

    async def run() -> None:
        puller = Puller(log, sources, {"FEED_TOKEN": TOKEN}, Random(1))
        task = asyncio.create_task(puller.run())
        try:
            await asyncio.to_thread(eventually, is_done, seconds, "pulled")
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


@each_protocol
def test_pulled_events_are_logged_and_resumed_after_last_position(
    log: MessageLog, folder: Path, serve: Serve, entry: str
) -> None:
    with serve(allowed=30) as stream:
        sources = declared(folder, entry, stream.url)
        pull_until(log, lambda: sources, lambda: log.totals.waiting == 30)
        assert log.positions == {"feed": "30"}
        stream.allow(40)
        pull_until(log, lambda: sources, lambda: log.totals.waiting == 40)
        assert stream.resumed == [None, "30"]
        assert stream.tokens == [f"Bearer {TOKEN}"] * 2
    found = values(log)
    assert [value["messageId"] for value in found] == [f"feed:{number}" for number in range(1, 41)]
    assert {(value["event"], value["userId"][:1]) for value in found} == {("Signed Up", "u")}
    row = parse([Record(log.pending(0, 1)[0].value)])[0]
    assert (row["goal"], row["user_id"]) == ("Signed Up", "u1")


@each_protocol
def test_redirect_is_not_followed_with_the_token(
    log: MessageLog, folder: Path, serve: Serve, entry: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serve(allowed=5) as other, serve(redirect=other.url) as stream:
        sources = declared(folder, entry, stream.url)
        pull_until(log, lambda: sources, lambda: "status 302" in caplog.text)
        assert other.tokens == []


@each_protocol
def test_event_larger_than_the_source_allows_ends_the_connection(
    log: MessageLog, folder: Path, serve: Serve, entry: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serve(allowed=3, padding=1000) as stream:
        sources = declared(folder, entry + "    largest_body: 2000\n", stream.url)
        pull_until(log, lambda: sources, lambda: log.totals.waiting == 3)
        stream.padding = 300_000  # many parts
        stream.allow(4)
        pull_until(log, lambda: sources, lambda: caplog.text)
    assert log.totals.waiting == 3


@each_protocol
def test_repeated_event_keeps_its_message_id(log: MessageLog, folder: Path, serve: Serve, entry: str) -> None:
    with serve(allowed=5, repeats=True) as stream:
        sources = declared(folder, entry, stream.url)
        pull_until(log, lambda: sources, lambda: log.totals.waiting == 5)
        stream.allow(6)
        pull_until(log, lambda: sources, lambda: log.totals.waiting == 7)
    ids = [value["messageId"] for value in values(log)]
    assert ids == ["feed:1", "feed:2", "feed:3", "feed:4", "feed:5", "feed:5", "feed:6"]


@each_protocol
def test_broken_connection_is_reopened_after_last_position(
    log: MessageLog, folder: Path, serve: Serve, entry: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"refused": 2, "retry": 1} if serve is sse_server else {}
    with serve(allowed=10, cut=3, **options) as stream:
        sources = declared(folder, entry, stream.url)
        pull_until(log, lambda: sources, lambda: log.totals.waiting == 10)
        address = stream.url.partition("//")[2].partition("/")[0]
    assert stream.resumed == [None, "3", "6", "9"]
    assert [value["messageId"] for value in values(log)] == [f"feed:{number}" for number in range(1, 11)]
    ours = "\n".join(each.getMessage() for each in caplog.records if each.name.startswith("intake"))
    assert "connecting again" in ours
    assert ("status 503" in ours) is bool(options)
    assert TOKEN not in ours
    assert address not in ours


def test_server_sent_events_without_own_id_are_kept(log: MessageLog, folder: Path) -> None:
    lines = [
        *(
            b"data: first\n\n",
            b"id: 1\ndata: a\n\n",
            b"data: b\n\n",
            b"event: x\ndata: b\n\n",
            b": a comment\n\n",
        ),
        *(b"id: 1\ndata: a\n\n", b"data: one\ndata: two\r\n\r\n", b"id: 2\n\n", b"data: b\n\n"),
    ]
    with sse_server(allowed=1, raw=b"".join(lines)) as stream:
        sources = declared(folder, SSE, stream.url)
        pull_until(log, lambda: sources, lambda: log.totals.waiting == 7)
    found = values(log)
    originals = [value["properties"]["original"] for value in found]
    assert originals == ["first", "a", "b", "b", "a", "one\ntwo", "b"]
    assert len({value["messageId"] for value in found}) == 6  # the event with id 1 came twice
    assert found[1]["messageId"] == found[4]["messageId"] == "feed:1"
    assert [value["event"] for value in found] == ["message"] * 3 + ["x"] + ["message"] * 3
    assert log.positions == {"feed": "2"}


def test_pull_pauses_while_log_is_full(folder: Path) -> None:
    total, size = 800, 20_000
    log = MessageLog(folder / "messages.db", Budget(logged=2_000_000))
    with sse_server(allowed=total, padding=size) as stream:
        sources = declared(folder, SSE, stream.url)
        seen: list[int] = []

        def has_stalled() -> bool:
            seen.append(stream.sent)
            return len(seen) > 20 and len(set(seen[-20:])) == 1 and seen[-1] > 0

        def is_drained() -> bool:
            pending = log.pending(0, 5000)
            ids.update(json.loads(each.value or b"")["messageId"] for each in pending)
            if pending:
                log.forget(pending[-1].sequence)
            return len(ids) == total

        ids: set[str] = set()
        pull_until(log, lambda: sources, has_stalled)
        assert stream.sent < total
        assert log.totals.size <= 2_000_000
        pull_until(log, lambda: sources, is_drained, 60)
    log.close()


def test_pull_leaves_half_of_the_log_to_protected_sources(folder: Path) -> None:
    log = MessageLog(folder / "messages.db", Budget(logged=1000))
    log.append(Write("r", "other", [Message(None, b"x" * 501)])).result()
    key = "0" * 64
    with sse_server(allowed=1) as stream:
        protected = SSE + f"\n  - {{{{name: shop, key_sha256: '{key}', protected: true}}}}\n"
        sources = declared(folder, protected, stream.url)
        sent_counts = []

        def counted() -> Sources:
            sent_counts.append(stream.sent)
            return sources

        pull_until(log, counted, lambda: sum(sent_counts) > 5)
        assert log.totals.waiting == 1
        sources = declared(folder, SSE, stream.url)
        pull_until(log, lambda: sources, lambda: log.totals.waiting == 2)
    log.close()


def test_changed_source_is_reconnected_and_resumed(log: MessageLog, folder: Path) -> None:
    with sse_server(allowed=3) as first, websocket_server(allowed=5) as second:
        now = declared(folder, SSE, first.url)

        def is_done() -> bool:
            nonlocal now
            if log.totals.waiting == 3:
                now = declared(folder, WEBSOCKET, second.url)
            return log.totals.waiting == 5

        pull_until(log, lambda: now, is_done)
        assert second.resumed == ["3"]


def test_back_off_doubles_up_to_a_minute_with_jitter() -> None:
    backoff = Backoff(Random(1))
    pauses = [backoff.next_pause() for _ in range(40)]
    for number, pause in enumerate(pauses):
        least = min(0.5 * 2**number, 60)
        assert least <= pause <= 1.5 * least
    assert len({round(pause / 60, 6) for pause in pauses[10:]}) > 20
    backoff.reset()
    assert backoff.next_pause() <= 0.75


def test_back_off_honours_retry_time_of_server() -> None:
    for asked, least in ((10.0, 10.0), (0.0, 0.001), (120.0, 120.0)):
        backoff = Backoff(Random(1))
        backoff.note_retry(asked)
        assert least <= backoff.next_pause() <= 1.5 * least


def test_position_and_its_messages_are_written_atomically(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "messages.db"
    log = MessageLog(file)
    log.append(Write("r", "feed", [Message(None, b"1")], position="1")).result()
    log.close()
    with closing(sqlite3.connect(file)) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    opened = sqlite3.connect

    def open_with_page_limit(*args: Any, **more: Any) -> sqlite3.Connection:
        connection = opened(*args, **more)
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", open_with_page_limit)
    full = MessageLog(file)
    with pytest.raises(UnavailableError):
        full.append(Write("r", "feed", [Message(None, b"x" * 100_000)], position="2")).result()
    assert full.positions == {"feed": "1"}
    full.close()
    again = MessageLog(file)
    assert (again.positions, again.totals.waiting) == ({"feed": "1"}, 1)
    again.close()


def test_log_of_schema_version_1_is_migrated_to_positions(folder: Path) -> None:
    file = folder / "messages.db"
    log = MessageLog(file)
    log.append(Write("r", "a", [Message(None, b"1")])).result()
    log.close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript("DROP TABLE positions; PRAGMA user_version = 1;")
    again = MessageLog(file)
    again.append(Write("r", "a", [Message(None, b"2")], position="7")).result()
    assert ([each.value for each in again.pending(0, 10)], again.positions) == ([b"1", b"2"], {"a": "7"})
    again.close()


@pytest.mark.parametrize(
    "entry",
    [
        "pull: {url: ftp://a.example}",
        "pull: {url: 'https://user:pass@a.example'}",
        "pull: {url: https://a.example, resume_parameter: since}",
        "pull: {url: wss://a.example, resume_parameter: since}",
        "pull: {url: https://a.example, token_env: not-a-variable}",
        "pull: {url: https://a.example}, delivery: at_least_once",
        "pull: {url: https://a.example}, overload: shed",
        f"pull: {{url: https://a.example}}, key_sha256: {'a' * 64}",
        "pull: {url: https://a.example}, events: {properties: {original: a}}",
    ],
)
def test_invalid_pull_entry_is_rejected(folder: Path, entry: str) -> None:
    with pytest.raises(MillraceError, match=r"conf/sources\.yml") as error:
        declared(folder, f" [{{{{name: feed, {entry.replace('{', '{{').replace('}', '}}')}}}}}]", "")
    assert "pass" not in str(error.value)


def received(home: Home, node: str) -> int:
    accounts = accounts_of(home, node)
    return accounts["feed"].received if "feed" in accounts else 0


@pytest.mark.parametrize(
    ("serve", "entry"),
    [
        pytest.param(sse_server, SSE, id="sse"),
        pytest.param(websocket_server, WEBSOCKET, id="websocket", marks=pytest.mark.long),
    ],
)
def test_killed_collector_loses_no_pulled_events(
    new_home: Callable[..., Home], serve: Serve, entry: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    port, rng = stable_port(), Random(7)
    with serve(repeats=True) as stream:
        home = with_sources(new_home(FEED_TOKEN=TOKEN), "sources:" + entry.format(url=stream.url))
        kills = kills_during_stream = 0
        while kills < KILLS or not kills_during_stream:
            assert kills < 8, "no kill before the collector had all events"
            with collector(home, port):
                stream.allow(stream.allowed + 100)
                eventually(lambda: MessagePosition(home).read() == str(stream.allowed), 30)
                while_sending = stream.sent + rng.randrange(1, 150)
                stream.allow(stream.allowed + 200 * 2 ** max(0, kills + 1 - KILLS))  # a slow kill needs more
                stream.wait_until_sent(while_sending)
            kills += 1
            kills_during_stream += int(MessagePosition(home).read()) < stream.allowed
        with collector(home, port) as node:
            total = max(EVENTS, stream.allowed + 100)
            stream.allow(total)
            eventually(lambda: MessagePosition(home).read() == str(total), 60)
            node.wait_until_forwarded()
    assert stream.resumed[0] is None
    assert len(stream.resumed) == kills + 1
    found = {value["messageId"] for value in values_in(home)}
    assert found == {f"feed:{number}" for number in range(1, total + 1)}
    assert TOKEN not in (home.path / "collect-main.log").read_text()


class MessagePosition:
    """Reads the stored position from disk while the collector runs."""

    def __init__(self, home: Home) -> None:
        self._file = log_file(home.path, "main")

    def read(self) -> str:
        with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)) as connection:
            return str(connection.execute("SELECT max(position) FROM positions").fetchone()[0])


def test_only_node_with_pull_enabled_connects_to_the_stream(new_home: Callable[..., Home]) -> None:
    ports = stable_port(), stable_port()
    with sse_server(allowed=3) as stream:
        home = with_sources(new_home(FEED_TOKEN=TOKEN), "sources:" + SSE.format(url=stream.url))
        with (
            collector(home, ports[0], "other") as other,
            collector(home, ports[1], "main", "--no-pull") as main,
        ):
            other.wait_until_ready()
            main.wait_until_ready()
            assert stream.resumed == []
        with collector(home, ports[0], "other", "--pull") as other:
            eventually(lambda: received(home, "other") == 3, 30)
            other.wait_until_forwarded()
    assert len(values_in(home)) == 3


def test_collector_without_pull_token_does_not_start(new_home: Callable[..., Home]) -> None:
    home = with_sources(new_home(), "sources:" + SSE.format(url="http://127.0.0.1:9/"))
    ended = home.run("collect", "--port", str(stable_port()))
    assert ended.returncode != 0
    assert "FEED_TOKEN" in ended.stderr + ended.stdout


def test_sse_text_follows_the_specification() -> None:
    assert sse_text({"id": 1, "type": "A", "b": 2}) == b'id: 1\nevent: A\ndata: {"b": 2}\n\n'
