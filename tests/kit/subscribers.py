"""Clients of the streaming API that fold messages into rows, as described in docs/streaming.md."""

import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx
from httpx_sse import aconnect_sse
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from kit.live_table import row_number
from kit.polling import eventually_async

_BACK_OFF = 0.2
_SECONDS = 120.0
_TIMEOUT = httpx.Timeout(10, read=60)
CUT = (httpx.HTTPError, OSError, WebSocketException, asyncio.TimeoutError)


class Fold:
    """Folds messages into rows. Messages are applied when a position follows.

    Attributes:
        digests: at each position, the version of the table and the digest of the rows.
        kinds: number of messages by type.
        delays: seconds from a commit to its arrival.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self.position: str | None = None
        self.version = -1
        self.rows: dict[str, dict[str, Any]] = {}
        self.digests: list[tuple[int, int]] = []
        self.kinds: dict[str, int] = {}
        self.delays: list[float] = []
        self.reason: str | None = None
        self._key: list[str] = []
        self._digest = 0
        self._held: list[Mapping[str, Any]] = []

    def cut(self) -> None:
        """Discard messages since the last position."""
        self._held = []

    def take(self, message: Mapping[str, Any]) -> None:
        """Buffer a message, and apply all buffered messages if it has a position."""
        self.kinds[message["type"]] = self.kinds.get(message["type"], 0) + 1
        if message["type"] == "closed":
            self.reason = message["reason"]
            return
        self._held.append(message)
        if "position" not in message:
            return
        for each in self._held:
            self._apply(each)
        self._held = []
        self.position, version = message["position"], message["versions"][self._table]
        assert version >= self.version, "a position goes back"
        self.version = version
        self.digests.append((version, self._digest))

    def _apply(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "reset":
            self.rows, self._digest, self._key = {}, 0, message["key"]
        for row in message.get("rows", ()):
            self._change(None, row)
        for change in message.get("changes", ()):
            self._change(change["before"], change["after"])
        if message.get("committed_at"):
            committed = time.time() - _seconds(message["committed_at"])
            self.delays.append(committed)

    def _change(self, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        key = json.dumps([(before or after or {})[name] for name in self._key])
        assert self.rows.get(key) == before, f"a gap or a double at {key}"
        if before is not None:
            self._digest -= row_number(before)
            del self.rows[key]
        if after is not None:
            self._digest += row_number(after)
            self.rows[key] = after

    def assert_right(self, digests: Mapping[int, int]) -> None:
        """Assert that the rows equalled those of the table at every position."""
        wrong = [version for version, digest in self.digests if digests[version] != digest]
        assert not wrong, f"not the table at versions {wrong[:5]} of {len(self.digests)} positions"
        assert self.digests, "no position came"


class Subscriber:
    """A client that reconnects until it is stopped.

    Args:
        urls: servers; each connection chooses one at random.
        table: the subscribed table.
        fields: further fields of its request.
    """

    def __init__(self, urls: Sequence[str], table: str, **fields: Any) -> None:
        self.fold = Fold(table)
        self.cuts = 0
        self._urls = urls
        self._fields = {"table": table, **fields}
        self._session: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Read until the task is cancelled, or the server closes the subscription with a reason."""
        while self.fold.reason is None:
            self._session = asyncio.ensure_future(self._follow(random.choice(self._urls)))
            try:
                await asyncio.wait({self._session})
            finally:
                self._session.cancel()
            if not self._session.cancelled() and (error := self._session.exception()) is not None:
                if not isinstance(error, CUT):
                    raise error
                await asyncio.sleep(_BACK_OFF)
            self.fold.cut()

    def cut(self) -> None:
        """Drop the connection."""
        if self._session is not None and not self._session.done():
            self.cuts += 1
            self._session.cancel()

    async def _follow(self, url: str) -> None:
        raise NotImplementedError

    def _asked(self) -> dict[str, Any]:
        return self._fields | ({"after": self.fold.position} if self.fold.position else {})


class EventSubscriber(Subscriber):
    """Subscribes by server-sent events, and resumes with `Last-Event-ID`.

    Attributes:
        pause: if given, reading stops after the first rows until this event is set.
    """

    pause: asyncio.Event | None = None

    async def _follow(self, url: str) -> None:
        headers = {"Last-Event-ID": self.fold.position} if self.fold.position else {}
        async with (
            httpx.AsyncClient(timeout=_TIMEOUT) as client,
            aconnect_sse(client, "GET", f"{url}/v1/changes", params=self._fields, headers=headers) as source,
        ):
            source.response.raise_for_status()
            async for event in source.aiter_sse():
                self.fold.take(json.loads(event.data))
                if self.pause is not None and "rows" in self.fold.kinds:
                    await self.pause.wait()


class SocketSubscriber(Subscriber):
    """Subscribes by WebSocket."""

    async def _follow(self, url: str) -> None:
        address = f"{url.replace('http', 'ws', 1)}/v1/socket"
        async with connect(address, compression=None, max_size=None, close_timeout=1) as socket:
            await socket.send(json.dumps(self._asked()))
            async for text in socket:
                self.fold.take(json.loads(text))


class PollSubscriber(Subscriber):
    """Subscribes by long polling."""

    async def _follow(self, url: str) -> None:
        async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
            while True:
                answer = await client.get(f"{url}/v1/poll", params=self._asked())
                answer.raise_for_status()
                for message in answer.json()["messages"]:
                    self.fold.take(message)


PROTOCOLS = (EventSubscriber, SocketSubscriber, PollSubscriber)


def _seconds(time_: str) -> float:
    return datetime.fromisoformat(time_.replace("Z", "+00:00")).timestamp()


async def all_have(
    subscribers: Sequence[Subscriber], tasks: Sequence["asyncio.Task[None]"], version: int
) -> None:
    """Wait until all subscribers have a version. Raises the error of a failed one."""

    def look() -> bool:
        for task in tasks:
            if task.done():
                task.result()
                raise AssertionError("a subscriber has ended")
        return min(each.fold.version for each in subscribers) >= version

    await eventually_async(look, _SECONDS, f"version {version} everywhere")
