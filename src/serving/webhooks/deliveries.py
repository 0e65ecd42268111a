"""Delivers all webhooks of a home, on the one node that holds the lease."""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from lakehouse.access.read_log import Reads
from serving.stream.hub import Hub
from serving.stream.subscription import Terms
from serving.webhooks.delivery import Delivery, Retries, RoleOf
from serving.webhooks.store import WebhookStore

_LOG = logging.getLogger("serving")
_LOOK_SECONDS = 1.0
_LEASE_SECONDS = 10.0
_CANCEL_SECONDS = 0.5


class Deliveries:
    """The deliveries that run on this node.

    Args:
        hub: follows tables and queries.
        role_of: returns the current role of a reader by name; None if it may no longer read.
        store: the webhooks.
        terms: settings of subscriptions.
        retries: settings of retries.
        hosts: hosts to which webhooks may be sent, in addition to this machine.
        reads: records what receivers have got; None: nothing is recorded.
    """

    def __init__(
        self,
        hub: Hub,
        role_of: RoleOf,
        store: WebhookStore,
        terms: Terms,
        retries: Retries,
        hosts: Collection[str] = (),
        reads: Reads | None = None,
    ) -> None:
        self._hub = hub
        self._role_of = role_of
        self._store = store
        self._terms = terms
        self._retries = retries
        self._hosts = hosts
        self._reads = reads
        self._owner = uuid.uuid4().hex
        self._running: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Deliver during the block, while this node holds the lease."""
        looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            await _end({looking})
            await self._stop(list(self._running))
            await asyncio.to_thread(self._store.release_lease, self._owner)

    async def _look(self) -> None:
        while True:
            try:
                await self._update()
            except Exception:  # noqa: BLE001 - the next poll may succeed, e.g. after a full disk
                _LOG.exception("Cannot read the webhooks")
            await asyncio.sleep(_LOOK_SECONDS)

    async def _update(self) -> None:
        """Renew the lease, start deliveries of new webhooks, and stop those of removed ones."""
        if not await asyncio.to_thread(self._store.take_lease, self._owner, time.time(), _LEASE_SECONDS):
            await self._stop(list(self._running))
            return
        webhooks = await asyncio.to_thread(self._store.all)
        wanted = {webhook.id for webhook in webhooks if webhook.disabled_at is None}
        ended = [name for name, task in self._running.items() if name not in wanted or task.done()]
        await self._stop(ended)
        for name in wanted - self._running.keys():
            delivery = Delivery(
                self._hub,
                self._role_of,
                self._store,
                self._terms,
                self._retries,
                self._owner,
                name,
                self._hosts,
                self._reads,
            )
            self._running[name] = asyncio.create_task(delivery.run())

    async def _stop(self, names: list[str]) -> None:
        await _end({self._running.pop(name) for name in names})


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks repeatedly until they end: before Python 3.12, `asyncio.wait_for` may lose one cancel."""
    while tasks:
        for task in tasks:
            task.cancel()
        _, tasks = await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)
