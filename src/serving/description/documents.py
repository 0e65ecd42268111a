"""OpenAPI and AsyncAPI documents, generated from an application's routes."""

import inspect
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from serving.description.operations import DELIVERY, OPERATIONS
from serving.description.schemas import MESSAGES, SCHEMAS

_TITLE = "Millrace streaming API"
_ABOUT = "Tables and standing queries as they change."


def openapi(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The OpenAPI document of routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if not isinstance(route, Route):
            continue
        for method in sorted((route.methods or set()) - {"HEAD"}):
            described = OPERATIONS.get((method, route.path), {"responses": {"200": {"description": "Done."}}})
            summary = inspect.cleandoc(route.endpoint.__doc__ or route.name).partition("\n")[0]
            name = f"{method.lower()}{route.path}".replace("/", "-")
            operation = {"operationId": name, "summary": summary, **described}
            paths.setdefault(route.path, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "version": version("millrace"), "description": _ABOUT},
        "paths": paths,
        "webhooks": {"delivery": DELIVERY},
        "components": {"schemas": SCHEMAS},
    }


def asyncapi(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The AsyncAPI document: server-sent events, and the WebSockets among routes."""
    sockets = {
        route.path.rpartition("/")[2]: route.path for route in routes if isinstance(route, WebSocketRoute)
    }
    sent = {name: _reference("messages", name) for name in MESSAGES}
    taken = {name: _reference("messages", name) for name in ("subscribe", "terms")}
    channels: dict[str, Any] = {"changes": {"address": "/v1/changes", "messages": sent}}
    operations: dict[str, Any] = {"sendChanges": _operation("send", "changes")}
    for name, path in sockets.items():
        channels[name] = {"address": path, "messages": {**sent, **taken}}
        operations[f"{name}Send"] = _operation("send", name, *sent)
        operations[f"{name}Receive"] = _operation("receive", name, *taken)
    payloads = {**{name: name.capitalize() for name in MESSAGES}, "subscribe": "Subscribe", "terms": "Terms"}
    return {
        "asyncapi": "3.0.0",
        "info": {"title": _TITLE, "version": version("millrace"), "description": _ABOUT},
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": {
                name: {"name": name, "payload": _reference("schemas", schema)}
                for name, schema in payloads.items()
            },
            "schemas": SCHEMAS,
        },
    }


def with_documents(app: Starlette) -> Starlette:
    """Add `GET /openapi.json` and `GET /asyncapi.json` to an application, and return it."""

    async def describe_http(request: Request) -> Response:
        """The OpenAPI document: requests and answers."""
        del request
        return JSONResponse(openapi(app.routes))

    async def describe_messages(request: Request) -> Response:
        """The AsyncAPI document: messages of streams."""
        del request
        return JSONResponse(asyncapi(app.routes))

    app.router.routes += [Route("/openapi.json", describe_http), Route("/asyncapi.json", describe_messages)]
    return app


def _operation(action: str, channel: str, *messages: str) -> dict[str, Any]:
    found: dict[str, Any] = {"action": action, "channel": {"$ref": f"#/channels/{channel}"}}
    if messages:
        found["messages"] = [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in messages]
    return found


def _reference(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}
