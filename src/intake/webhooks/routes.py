"""The route of webhooks: `POST /v1/webhooks/{source}`."""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from http import HTTPStatus
from uuid import uuid4

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from intake.bodies import BodyMemory, read_body
from intake.delivery import Delivery
from intake.log.message_log import OverloadedError, UnavailableError
from intake.providers import Webhook
from intake.segment_requests import BadRequestError, TooLargeError
from intake.sources import Semantics, Source, Sources
from intake.webhooks.headers import read_headers
from intake.webhooks.mapping import Arrival, map_event
from intake.webhooks.paths import NotJsonError
from intake.webhooks.signatures import SignatureError, check_signature, signing_key
from lakehouse.http.body_rate import SlowBodyError

_LOG = logging.getLogger(__name__)
_BODY_MEMORY = 64 << 20
"""Bytes of bodies that are read at the same time."""
_RECEIPT = "Millrace-Receipt"
_AGAIN = {"Retry-After": "1"}


class Webhooks:
    """Takes webhooks, each as one event.

    Args:
        delivery: takes events with the semantics of their source.
        sources: returns the current sources.
        environment: environment variables with the secrets.
        now: returns seconds since 1970.
    """

    def __init__(
        self,
        delivery: Delivery,
        sources: Callable[[], Sources],
        environment: Mapping[str, str] = os.environ,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._delivery = delivery
        self._sources = sources
        self._environment = environment
        self._now = now
        self._memory = BodyMemory(_BODY_MEMORY)

    def routes(self) -> Sequence[Route]:
        """The route."""
        return [Route("/v1/webhooks/{source}", self.take, methods=["POST"])]

    async def take(self, request: Request) -> Response:
        """Take a webhook. Answers 200 once its event is durable."""
        source = self._sources().named(request.path_params["source"])
        if source is None or source.webhook is None:
            return _answer(404, "there is no such webhook")
        try:
            receipt = await self._take(request, source, source.webhook)
        except SignatureError as error:
            return _answer(401, str(error))
        except NotJsonError:
            return _answer(400, "the body is not JSON")
        except BadRequestError as error:
            return _answer(400, str(error))
        except TooLargeError as error:
            return _answer(413, str(error))
        except SlowBodyError:
            return _answer(408, "the body came too slowly")
        except ClientDisconnect:
            return Response(status_code=400)
        except OverloadedError:
            return _answer(429, "too much is waiting, try again", _AGAIN)
        except UnavailableError as error:
            _LOG.warning("webhook of %s: %s", source.name, error)
            return _answer(503, "events cannot be stored now, try again", _AGAIN)
        return JSONResponse({"success": True}, headers={_RECEIPT: receipt})

    async def _take(self, request: Request, source: Source, webhook: Webhook) -> str:
        keys = signing_keys(source.name, webhook, self._environment)
        with self._memory.lease() as lease:
            body = await read_body(request, source.largest_body, lease)
        check_signature(
            webhook.signature,
            request.headers,
            body,
            keys,
            now=self._now(),
            tolerance=webhook.tolerance.total_seconds(),
            header=webhook.header or "",
        )
        receipt = uuid4().hex
        message = map_event(self._arrival(request, source, webhook, body, receipt), source.events)
        await self._delivery.deliver(source, receipt, [message], has_reserve=self._sources().has_protected)
        return receipt

    def _arrival(
        self, request: Request, source: Source, webhook: Webhook, body: bytes, receipt: str
    ) -> Arrival:
        named = read_headers(webhook.signature, request.headers, source.events)
        return Arrival(
            source.name,
            body,
            datetime.now(timezone.utc),
            id=named.id,
            name=named.name,
            salt=receipt if source.delivery is Semantics.AT_LEAST_ONCE else "",
            placeholders=self._sources().placeholders,
        )


def signing_keys(name: str, webhook: Webhook, environment: Mapping[str, str]) -> list[bytes]:
    """The keys of a source's webhooks, one for each of its variables that is set.

    Raises:
        UnavailableError: if none is set, or one is malformed for the scheme. The message has no secret.
    """
    set_ = [variable for variable in webhook.secret_env if environment.get(variable)]
    if not set_:
        raise UnavailableError(f"the secret of {name} is not set: {webhook.secret_env[0]}")
    try:
        return [signing_key(webhook.signature, environment[variable].strip()) for variable in set_]
    except ValueError as error:
        raise UnavailableError(f"{error}: {', '.join(set_)} of {name}") from None


def _answer(status: int, why: str, headers: Mapping[str, str] | None = None) -> Response:
    content = {"success": False, "code": HTTPStatus(status).phrase, "message": why}
    return JSONResponse(content, status, dict(headers or {}))
