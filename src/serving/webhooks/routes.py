"""Routes to register, list and remove webhooks."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from lakehouse.access.read_log import Reads
from lakehouse.errors import MillraceError
from serving.api.readers import Readers
from serving.api.requests import json_of, position_of, terms_of, wanted_of
from serving.stream.hub import Hub
from serving.stream.subscription import Terms
from serving.webhooks.deliveries import Deliveries
from serving.webhooks.delivery import Retries
from serving.webhooks.signing import new_secret
from serving.webhooks.store import FILE, WebhookStore
from serving.webhooks.target import check_target
from serving.webhooks.webhook import Webhook

_MOST_WEBHOOKS = 100
_MOST_BODY = 64 << 10


class Webhooks:
    """The webhooks of a home.

    Args:
        hub: follows tables and queries.
        readers: authenticates readers.
        terms: settings of subscriptions.
        home: folder of the workspace.
        hosts: hosts to which webhooks may be sent, in addition to this machine.
        reads: records what receivers have got; None: nothing is recorded.
    """

    def __init__(
        self,
        hub: Hub,
        readers: Readers,
        terms: Terms,
        home: Path,
        hosts: Collection[str],
        reads: Reads | None = None,
    ) -> None:
        self._hub = hub
        self._readers = readers
        self._terms = terms
        self._hosts = hosts
        self._store = WebhookStore(home / "serve" / FILE)
        self._deliveries = Deliveries(hub, readers.role_of, self._store, terms, Retries(), hosts, reads)

    @property
    def routes(self) -> list[BaseRoute]:
        """The routes."""
        return [
            Route("/v1/webhooks", self.create, methods=["POST"]),
            Route("/v1/webhooks", self.list, methods=["GET"]),
            Route("/v1/webhooks/{id}", self.delete, methods=["DELETE"]),
        ]

    def attach(self, app: Starlette) -> Starlette:
        """Deliver webhooks as long as the application runs. Returns the application."""
        inner = app.router.lifespan_context

        @asynccontextmanager
        async def both(app: Starlette) -> AsyncIterator[None]:
            async with inner(app), self._deliveries.running():
                yield

        app.router.lifespan_context = both
        return app

    async def create(self, request: Request) -> Response:
        """Register a webhook. The answer has its secret, which is shown this once."""
        reader, asked = await self._readers.admit(request), await _object(request)
        wanted, terms = wanted_of(asked), terms_of(asked, self._terms)
        url, after = asked.get("url"), position_of(asked)
        if not isinstance(url, str):
            raise MillraceError("url is missing", "Say where changes are to be sent")
        check_target(url, self._hosts, is_local=reader.is_local)
        source = await self._hub.open_source(wanted, reader.role, reader.name)
        if after is not None:
            self._hub.subject(wanted, reader.role, source).position(after)
        webhook = Webhook(
            f"whk_{secrets.token_hex(8)}",
            reader.name,
            url,
            wanted,
            terms.interval,
            new_secret(),
            position=after,
        )
        if not await asyncio.to_thread(self._store.add, webhook, _MOST_WEBHOOKS):
            raise MillraceError(f"there are {_MOST_WEBHOOKS} webhooks already", "Remove one")
        return _json({**webhook.shown(), "secret": webhook.secret}, 201)

    async def list(self, request: Request) -> Response:
        """The reader's webhooks with state and position."""
        reader = self._readers.find(request).name
        found = await asyncio.to_thread(self._store.all)
        return _json({"webhooks": [webhook.shown() for webhook in found if webhook.reader == reader]})

    async def delete(self, request: Request) -> Response:
        """Remove a webhook of the reader."""
        reader = self._readers.find(request).name
        if not await asyncio.to_thread(self._store.remove, request.path_params["id"], reader):
            return _json({"error": "there is no webhook of that id"}, 404)
        return Response(status_code=204)


async def _object(request: Request) -> dict[str, Any]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BODY:
            raise MillraceError(f"the body has more than {_MOST_BODY:,} bytes", "Shorten the query")
    found = json_of(body)
    if not isinstance(found, dict):
        raise MillraceError(
            "the body is no JSON object", 'As an example: {"url": "…", "table": "gold.traffic"}'
        )
    return found


def _json(content: object, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(msgspec.json.encode(content), status, headers, "application/json")
