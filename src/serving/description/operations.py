"""Parameters and responses of each route, by method and path. Summaries are the handlers' docstrings."""

from typing import Any

from serving.description.schemas import BUDGET, CONFLATE, INTERVAL, TABLE, TEXT, WHERE, Schema

Operation = dict[str, Any]


def _in_query(name: str, schema: Schema, description: str, example: Any = None) -> dict[str, Any]:
    found = {"name": name, "in": "query", "description": description, "schema": schema}
    return found if example is None else {**found, "example": example}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _answer(description: str, content: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    found: dict[str, Any] = {"description": description}
    if content is not None:
        found["content"] = content
    if headers:
        found["headers"] = {
            name.replace("_", "-"): {"description": text, "schema": TEXT} for name, text in headers.items()
        }
    return found


_UNKNOWN = {
    "401": _answer(
        "No token, an unknown one, or a page of another site.", _json("Error"), WWW_Authenticate="Bearer."
    )
}
_REFUSED = {
    "400": _answer("What was asked can't be done: the reason, and what to do.", _json("Error")),
    **_UNKNOWN,
    "503": _answer("It can't be done now.", _json("Error"), Retry_After="Seconds."),
}
_WANTED = [
    _in_query("table", TABLE, "The table. Give either this or `sql`.", "gold.funnel"),
    _in_query("sql", TEXT, "A standing query, in place of a table."),
    {
        "name": "where",
        "in": "query",
        "description": "Which rows of the table, as JSON.",
        "content": {"application/json": {"schema": WHERE}},
    },
    _in_query("select", TEXT, "Columns of the table, separated by commas; those of its key come too."),
]
_AFTER = _in_query("after", TEXT, "The last position; without one, all rows come first.")
_TERMS = [
    _in_query("interval", INTERVAL, "Least seconds between two groups; those between are conflated."),
    _in_query("conflate", CONFLATE, "Whether groups may be conflated if the subscriber is slow."),
    _in_query("budget", BUDGET, "Bytes of changes that may wait for the subscriber."),
]
_LAST = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The last position, as `EventSource` sends it; it comes before `after`.",
    "schema": TEXT,
}
_EVENTS = {
    "text/event-stream": {"schema": {"type": "string", "description": "Events whose data is a Message."}}
}
_LINES = {"application/x-ndjson": {"schema": {"type": "string", "description": "A row a line."}}}
_PAGE = {"text/html": {"schema": {"type": "string"}}}
_WAIT = {"type": "number", "minimum": 0, "maximum": 120}
_ID = {"name": "id", "in": "path", "required": True, "schema": TEXT}

_PAST = [
    _in_query("as_of", TEXT, "Rows as of a position: a time, an ingest stamp in microseconds, or `latest`."),
    _in_query("receipt", TEXT, "A collector's receipt, whose events are waited for first."),
    _in_query("wait", _WAIT, "With `receipt`: seconds to wait.", 1),
]

OPERATIONS: dict[tuple[str, str], Operation] = {
    ("GET", "/v1/tables"): {"responses": {"200": _answer("The tables.", _json("Tables")), **_UNKNOWN}},
    ("GET", "/v1/rows"): {
        "parameters": [*_WANTED, *_PAST],
        "responses": {
            "200": _answer("The rows.", _LINES, Millrace_Position="Follow the rows with it."),
            **_REFUSED,
        },
    },
    ("GET", "/v1/changes"): {
        "parameters": [*_WANTED, _AFTER, _LAST, *_TERMS],
        "responses": {"200": _answer("Events without end.", _EVENTS), **_REFUSED},
    },
    ("GET", "/v1/poll"): {
        "parameters": [
            *_WANTED,
            _AFTER,
            _in_query("wait", _WAIT, "Seconds to wait for a change.", 1),
            *_TERMS,
        ],
        "responses": {"200": _answer("Messages up to a position.", _json("Messages")), **_REFUSED},
    },
    ("POST", "/v1/session"): {
        "responses": {
            "204": _answer("The cookie is set for 15 minutes.", Set_Cookie="`millrace_session`."),
            **_UNKNOWN,
        },
    },
    ("DELETE", "/v1/session"): {"responses": {"204": _answer("The cookie is removed.")}},
    ("GET", "/health"): {"responses": {"200": _answer("It answers.", _json("Health"))}},
    ("GET", "/live"): {"responses": {"200": _answer("The page.", _PAGE)}},
    ("GET", "/v1/webhooks"): {
        "responses": {"200": _answer("The reader's webhooks.", _json("Webhooks")), **_UNKNOWN}
    },
    ("POST", "/v1/webhooks"): {
        "requestBody": {"required": True, "content": _json("NewWebhook")},
        "responses": {"201": _answer("The webhook, with its secret.", _json("CreatedWebhook")), **_REFUSED},
    },
    ("DELETE", "/v1/webhooks/{id}"): {
        "parameters": [_ID],
        "responses": {
            "204": _answer("It is removed."),
            **_UNKNOWN,
            "404": _answer("The reader has none of that id.", _json("Error")),
        },
    },
    ("GET", "/openapi.json"): {
        "responses": {"200": _answer("This document.", {"application/json": {"schema": {"type": "object"}}})}
    },
    ("GET", "/asyncapi.json"): {
        "responses": {"200": _answer("The document.", {"application/json": {"schema": {"type": "object"}}})}
    },
}

DELIVERY: Operation = {
    "post": {
        "operationId": "delivery",
        "summary": "A group of messages, signed after Standard Webhooks, repeated until the status is 2xx.",
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": text, "schema": TEXT}
            for name, text in (
                ("webhook-id", "Id of the delivery, the same at each attempt."),
                ("webhook-timestamp", "Time of the attempt, in seconds since 1970."),
                ("webhook-signature", "`v1,` and the Base64 HMAC-SHA256 of `id.timestamp.body`."),
            )
        ],
        "requestBody": {"required": True, "content": _json("Messages")},
        "responses": {"2XX": _answer("The receiver has it."), "410": _answer("Send no more.")},
    }
}
