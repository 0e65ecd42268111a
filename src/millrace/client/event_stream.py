"""Follows a table or query of the streaming API, with reconnects to one or several servers."""

import json
import logging
import random
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import httpx
from httpx_sse import EventSource, ServerSentEvent, SSEError

from lakehouse.errors import MillraceError
from millrace.client.change_group import Changes, Group

_LOG = logging.getLogger("millrace.client")
_LOST = (httpx.TransportError, httpx.StreamError, SSEError, ValueError)
_CONNECT_SECONDS = 10.0
_TRY_AGAIN = frozenset({408, 425, 429, *range(500, 600)})
"""HTTP status codes after which a retry may succeed."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0


@dataclass(frozen=True)
class Stream:
    """A table or a query of the streaming API.

    Args:
        urls: URL of a server, e.g. http://127.0.0.1:8789, or of several that serve the same tables.
        table: name of the table.
        sql: a query, instead of a table.
        where: conditions on rows of the table, by column.
        select: columns of the table; empty for all.
        token: access token.
        headers: further headers of requests. With `Authorization` among them, as of a token of a workspace
            whose app the server is, the access token goes into `Millrace-Token`.
        interval: minimum seconds between two groups; changes between them are conflated.
        silence: seconds without a message after which the connection counts as lost. The server sends a
            heartbeat every 15 s.
    """

    urls: str | Sequence[str]
    table: str | None = None
    sql: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    select: Sequence[str] = ()
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    interval: float | None = None
    silence: float = 40.0

    def __post_init__(self) -> None:
        """Check that there is either a table or a query.

        Raises:
            MillraceError: if there are none or both, or there is no server.
        """
        if (self.table is None) == (self.sql is None):
            raise MillraceError("give either a table or a query", "As an example: table='gold.funnel'")
        if not self.servers:
            raise MillraceError("there is no address of a server", "As an example: http://127.0.0.1:8789")

    @property
    def servers(self) -> tuple[str, ...]:
        """URLs of the servers."""
        urls = (self.urls,) if isinstance(self.urls, str) else self.urls
        return tuple(url.rstrip("/") for url in urls)

    @property
    def content(self) -> dict[str, Any]:
        """The table or query with its conditions, independent of the server."""
        wanted = {
            "table": self.table,
            "sql": self.sql,
            "where": dict(self.where),
            "select": list(self.select),
        }
        return {name: value for name, value in wanted.items() if value}

    def groups(
        self, after: str | None = None, stop: threading.Event | None = None
    ) -> Generator[Group, None, None]:
        """Groups without end. The changes of a group can be read until the next group is requested.

        After a lost connection, connects to the next server and resumes after the last complete group. Every
        15 s without a change, there is a group without changes.

        Args:
            after: position of the last applied group; None to begin with all rows.
            stop: if set, lost connections are not opened again.

        Raises:
            MillraceError: if the server refuses the request.
        """
        return _follow(self, after, stop or threading.Event())


def follow(
    urls: str | Sequence[str], after: str | None = None, **wanted: Any
) -> Generator[Group, None, None]:
    """Follow a table or a query: `Stream(urls, **wanted).groups(after)`."""
    return Stream(urls, **wanted).groups(after)


def _follow(stream: Stream, after: str | None, stop: threading.Event) -> Generator[Group, None, None]:
    headers = {"Accept": "text/event-stream", **stream.headers}
    if stream.token and "authorization" in map(str.lower, stream.headers):
        headers["Millrace-Token"] = stream.token
    elif stream.token:
        headers["Authorization"] = f"Bearer {stream.token}"
    timeout = httpx.Timeout(_CONNECT_SECONDS, read=stream.silence)
    with httpx.Client(timeout=timeout, headers=headers) as client:
        yield from _resumed(client, stream, after, stop)


def _resumed(
    client: httpx.Client, stream: Stream, after: str | None, stop: threading.Event
) -> Generator[Group, None, None]:
    """Groups of consecutive connections, each resumed after the last group."""
    failures, servers = 0, stream.servers
    place = random.randrange(len(servers))  # spreads consumers over servers
    while not stop.is_set():
        lost = "the server ended the stream"
        try:
            for group in _connected(client, stream, servers[place], after):
                after, failures = group.position, 0
                with closing(group.row_changes):
                    yield group
        except _LOST as error:
            lost = f"{type(error).__name__}: {error}".removesuffix(": ")
        failures += 1
        _LOG.warning("Lost the stream of %s, connecting again: %s", servers[place], lost)
        place = (place + 1) % len(servers)
        if failures >= len(servers):
            doubled = _SHORTEST_PAUSE * 2.0 ** min(failures - len(servers), 10)
            stop.wait(random.uniform(0.5, 1) * min(doubled, _LONGEST_PAUSE))


def _connected(client: httpx.Client, stream: Stream, server: str, after: str | None) -> Iterator[Group]:
    """The complete groups of one connection."""
    query = {name: value if isinstance(value, str) else json.dumps(value) for name, value in _asked(stream)}
    headers = {} if after is None else {"Last-Event-ID": after}
    with client.stream("GET", f"{server}/v1/changes", params=query, headers=headers) as response:
        if response.status_code in _TRY_AGAIN:
            raise httpx.StreamError(f"status {response.status_code}")
        if response.status_code != httpx.codes.OK:
            raise _refusal(server, response)
        yield from _complete(EventSource(response).iter_sse())


def _asked(stream: Stream) -> Iterator[tuple[str, Any]]:
    for name, value in stream.content.items():
        yield name, ",".join(value) if name == "select" else value
    if stream.interval is not None:
        yield "interval", stream.interval


def _complete(events: Iterable[ServerSentEvent]) -> Iterator[Group]:
    """Collect messages into a group until one with a position completes it."""
    changes, reset = Changes(), False
    key: tuple[str, ...] | None = None
    try:
        for event in events:
            message = json.loads(event.data)
            if event.event == "closed":
                raise httpx.StreamError(message["reason"])
            if event.event == "reset":  # discards the incomplete group
                changes.close()
                changes, reset, key = Changes(), True, tuple(message["key"])
            if event.event in ("rows", "changes"):
                changes.add(event.data)
            if "position" in message:
                committed = None if reset else message.get("committed_at")
                yield Group(reset, key, changes, message["position"], message["versions"], committed)
                changes, reset = Changes(), False
    finally:
        changes.close()


def _refusal(server: str, response: httpx.Response) -> MillraceError:
    try:
        reason = json.loads(response.read())["error"]
    except (ValueError, KeyError, TypeError):
        reason = f"status {response.status_code}"
    return MillraceError(
        f"{server} refuses: {str(reason).rstrip('.')}", "Change what is asked for, and start again"
    )
