"""Delivers the groups of one webhook in order, each repeatedly until the receiver accepts it."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass

from lakehouse.access.read_log import Reads
from lakehouse.access.role import Role
from lakehouse.errors import MillraceError
from serving.api.readers import LOCAL_NAME
from serving.stream.hub import Hub
from serving.stream.resume_token import versions_in
from serving.stream.seen_versions import SeenVersions
from serving.stream.subscription import Terms
from serving.webhooks.groups import follow
from serving.webhooks.sender import Answer, Sender
from serving.webhooks.store import WebhookStore
from serving.webhooks.target import check_target
from serving.webhooks.webhook import Pending, Webhook

_LOG = logging.getLogger("serving")


RoleOf = Callable[[str], Role | None]


@dataclass(frozen=True)
class Retries:
    """Settings of retries.

    Args:
        first: seconds before the first retry; each further pause is twice as long.
        longest: maximum seconds between two attempts.
        timeout: seconds within which the receiver has to respond.
        give_up: seconds of failures after which a webhook is disabled.
    """

    first: float = 1.0
    longest: float = 300.0
    timeout: float = 15.0
    give_up: float = 3 * 86400.0


class GoneError(Exception):
    """The webhook was removed or disabled, or another node has the lease."""


class Delivery:
    """The delivery of one webhook.

    Args:
        hub: follows tables and queries.
        role_of: returns the current role of a reader by name; None if it may no longer read.
        store: stores the webhook's position.
        terms: settings of subscriptions.
        retries: settings of retries.
        owner: this node's name in the lease.
        webhook_id: id of the webhook.
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
        owner: str,
        webhook_id: str,
        hosts: Collection[str] = (),
        reads: Reads | None = None,
    ) -> None:
        self._hub = hub
        self._role_of = role_of
        self._store = store
        self._terms = terms
        self._retries = retries
        self._owner = owner
        self._id = webhook_id
        self._hosts = hosts
        self._reads = reads

    async def run(self) -> None:
        """Deliver until the webhook is removed or disabled, or the task is cancelled."""
        pause = self._retries.first
        while True:
            started = time.monotonic()
            try:
                await self._deliver(await self._load())
            except GoneError:
                return
            except MillraceError as error:
                await self._note(str(error))
            except Exception:  # noqa: BLE001 - other webhooks continue, and the next attempt may succeed
                _LOG.exception("Webhook %s", self._id)
            if time.monotonic() - started > self._retries.longest:
                pause = self._retries.first
            await asyncio.sleep(pause)
            pause = min(2 * pause, self._retries.longest)

    async def _deliver(self, webhook: Webhook) -> None:
        role = self._role(webhook)
        check_target(webhook.url, self._hosts, is_local=webhook.reader == LOCAL_NAME)
        sender = Sender(webhook, self._retries.timeout)
        seen = SeenVersions(self._reads, webhook.reader, role.name, webhook.wanted)
        try:
            if webhook.pending is not None:
                webhook = await self._send(sender, webhook, seen)
            role = self._role(webhook)
            async with aclosing(follow(self._hub, webhook, role, self._terms)) as groups:
                async for group in groups:
                    if self._role(webhook).fingerprint != role.fingerprint:
                        return
                    if group.messages:
                        await self._must(self._store.set_pending, webhook, group.body, group.position)
                        webhook = await self._send(sender, await self._load(), seen)
                        if webhook.position != group.position:
                            return
                    elif group.position != webhook.position:
                        await self._must(self._store.set_position, webhook, group.position)
        finally:
            seen.end()
            await sender.close()

    async def _send(self, sender: Sender, webhook: Webhook, seen: SeenVersions) -> Webhook:
        """Retry the pending delivery until the receiver accepts it. Returns the updated webhook."""
        pause = self._retries.first
        while webhook.pending is not None:
            if not webhook.wanted.has_token(webhook.pending.position, self._role(webhook)):
                await self._must(self._store.drop_pending, webhook)  # it has what the reader saw before
                return await self._load()
            answer = await sender.send(webhook.pending)
            if answer.error is None:
                await self._must(self._store.set_delivered, webhook)
                seen.note(versions_in(webhook.pending.position))
            else:
                await self._fail(webhook, webhook.pending, answer)
                await asyncio.sleep(max(pause, answer.wait or 0))
                pause = min(2 * pause, self._retries.longest)
            webhook = await self._load()
        return webhook

    def _role(self, webhook: Webhook) -> Role:
        found = self._role_of(webhook.reader)
        if found is None:
            raise MillraceError(
                f"{webhook.reader}, who registered the webhook, may not read any more",
                "Declare the token again",
            )
        return found

    async def _fail(self, webhook: Webhook, pending: Pending, answer: Answer) -> None:
        now, error = time.time(), answer.error or ""
        if webhook.failing_since is None:
            _LOG.warning("Webhook %s: %s failed, %s: repeating it", webhook.id, pending.id, error)
        await asyncio.to_thread(self._store.set_failed, self._owner, webhook, error, now)
        failing = now - (webhook.failing_since or now)
        if answer.is_gone or failing > self._retries.give_up:
            _LOG.warning("Webhook %s to %s is disabled: %s", webhook.id, webhook.url, error)
            await asyncio.to_thread(self._store.disable, self._owner, webhook, error, now)

    async def _note(self, error: str) -> None:
        """Store the reason why the webhook's table or query can't be followed."""
        webhook = await self._load_or_none()
        if webhook is not None and webhook.last_error != error:
            _LOG.warning("Webhook %s: %s", self._id, error)
            await asyncio.to_thread(self._store.set_error, self._owner, webhook, error)

    async def _load(self) -> Webhook:
        found = await self._load_or_none()
        if found is None or found.disabled_at is not None:
            raise GoneError
        return found

    async def _load_or_none(self) -> Webhook | None:
        return await asyncio.to_thread(self._store.get, self._id)

    async def _must(self, change: Callable[..., bool], webhook: Webhook, *arguments: object) -> None:
        if not await asyncio.to_thread(change, self._owner, webhook, *arguments):
            raise GoneError
