"""The groups of messages of one webhook, without end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from lakehouse.access.role import Role
from lakehouse.errors import MillraceError
from serving.stream.hub import Hub
from serving.stream.messages import Message
from serving.stream.subscription import SlowSubscriberError, Terms
from serving.webhooks.webhook import Webhook

_PAUSE_SECONDS = 1.0
MOST_BYTES = 16 << 20
"""Maximum bytes of a delivery's body."""


@dataclass(frozen=True)
class Group:
    """Messages up to a position.

    Args:
        messages: messages other than heartbeats and warnings; empty if nothing has changed.
        position: resume token after the messages.
    """

    messages: list[Message]
    position: str

    @property
    def body(self) -> bytes:
        """The body of a delivery."""
        return b'{"messages":[' + b",".join(message.json for message in self.messages) + b"]}"


async def follow(hub: Hub, webhook: Webhook, role: Role, terms: Terms) -> AsyncGenerator[Group, None]:
    """The groups after a webhook's position; without a position, a snapshot first.

    Args:
        hub: follows tables and queries.
        webhook: the webhook.
        role: role with which it reads.
        terms: settings of subscriptions.

    Raises:
        MillraceError: if it can't be followed, or a group is too large to send.
    """
    position = webhook.position
    while True:
        subscription = await hub.subscribe(
            webhook.wanted, role, position, replace(terms, interval=webhook.interval), webhook.reader
        )
        try:
            async with aclosing(subscription.messages()) as messages:
                async for group in _groups(messages):
                    position = group.position
                    yield group
        except SlowSubscriberError:
            await asyncio.sleep(_PAUSE_SECONDS)  # then the changes after the last position are read


async def _groups(messages: AsyncGenerator[Message, None]) -> AsyncGenerator[Group, None]:
    waiting: list[Message] = []
    size = 0
    async for message in messages:
        if message.kind == "warning":
            continue
        if message.kind != "heartbeat":
            waiting.append(message)
            size += len(message.json)
        if size > MOST_BYTES:
            raise MillraceError(
                f"a delivery is larger than {MOST_BYTES:,} bytes",
                "Narrow it with where and select, or a query",
            )
        if message.position is not None:
            yield Group(waiting, message.position)
            waiting, size = [], 0
