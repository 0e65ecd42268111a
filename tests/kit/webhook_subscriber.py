"""A subscriber that receives changes by webhook."""

import asyncio
import json
import random
from collections.abc import Sequence
from typing import Any

import httpx

from kit.subscribers import Subscriber

_TAKEN = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


class WebhookSubscriber(Subscriber):
    """Receives deliveries, and ignores duplicates.

    A cut ends the connection of the next delivery, before it is folded or before it is acknowledged.

    Args:
        urls: servers of one home; any of them may deliver.
        table: the subscribed table.
        fields: further fields of its registration.
    """

    def __init__(self, urls: Sequence[str], table: str, **fields: Any) -> None:
        super().__init__(urls, table, **fields)
        self._cuts_next = False
        self._number = 0
        self._failed: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Register, and receive until the task is cancelled."""
        self._failed = asyncio.get_running_loop().create_future()
        async with await asyncio.start_server(self._receive, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with httpx.AsyncClient() as client:
                asked = self._fields | {"url": f"http://127.0.0.1:{port}/"}
                answer = await client.post(f"{self._urls[0]}/v1/webhooks", json=asked, timeout=60)
                answer.raise_for_status()
            await self._failed

    def cut(self) -> None:
        """Drop the connection of the next delivery."""
        if not self._cuts_next:
            self._cuts_next = True
            self.cuts += 1

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            headers, body = await _request(reader)
            is_cut, self._cuts_next = self._cuts_next, False
            if is_cut and random.random() < 0.5:
                return
            self._take(int(headers["webhook-id"].rpartition(".")[2]), body)
            if not is_cut:
                writer.write(_TAKEN)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # a killed server retries the delivery
        except Exception as error:  # noqa: BLE001 - run() raises it
            if self._failed is not None and not self._failed.done():
                self._failed.set_exception(error)
        finally:
            writer.close()

    def _take(self, number: int, body: bytes) -> None:
        if number <= self._number:
            return
        assert number == self._number + 1, f"delivery {number} follows {self._number}"
        self._number = number
        for message in json.loads(body)["messages"]:
            self.fold.take(message)


async def _request(reader: asyncio.StreamReader) -> tuple[dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().splitlines()[1:]
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in head if line)}
    return headers, await reader.readexactly(int(headers["content-length"]))
