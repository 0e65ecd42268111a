"""JSON Schemas of the API's requests and responses, with an example each."""

from typing import Any

from lakehouse.contracts import TABLES

Schema = dict[str, Any]

_ROW = {"day": "2026-11-02", "step": "visit", "visitors": 9}
_VERSIONS = {"gold.funnel": 17}
_POSITION = "b2dd303d~gold.funnel:17:dc65c19c"

TEXT: Schema = {"type": "string"}
TABLE: Schema = {"type": "string", "enum": sorted(TABLES), "examples": ["gold.funnel"]}
WHERE: Schema = {
    "type": "object",
    "description": "Conditions by column; a row has to meet all. A list has the values that are wanted.",
    "additionalProperties": {
        "oneOf": [
            {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}},
            {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": False,
                "properties": {
                    "not": {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}},
                    **{name: {"type": ["string", "number"]} for name in ("gt", "gte", "lt", "lte")},
                },
            },
        ]
    },
    "examples": [{"step": ["visit"], "visitors": {"gte": 2}}],
}
SELECT: Schema = {"type": "array", "items": TEXT, "examples": [["visitors"]]}
INTERVAL: Schema = {"type": "number", "minimum": 0, "maximum": 3600}
BUDGET: Schema = {"type": "integer", "minimum": 16 << 10, "maximum": 16 << 20}
CONFLATE: Schema = {"type": "boolean"}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None, **more: Any) -> Schema:
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required), **more}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _message(
    kind: str, summary: str, required: dict[str, Any], example: dict[str, Any], **optional: Any
) -> Schema:
    fields = {"type": {"const": kind}, **required}
    return _object(fields, optional, description=summary, examples=[{"type": kind, **example}])


_POSITIONED = {"position": _ref("Position")}
_KEY: Schema = {
    "type": "array",
    "items": TEXT,
    "description": "Columns that identify a row; empty if none do.",
}

MESSAGES: dict[str, Schema] = {
    "reset": _message(
        "reset",
        "Forget all rows: those there are follow.",
        {"key": _KEY, "versions": _ref("Versions")},
        {"key": ["day", "step"], "versions": _VERSIONS},
    ),
    "rows": _message(
        "rows",
        "Rows after a reset.",
        {"rows": {"type": "array", "items": _ref("Row")}, "versions": _ref("Versions")},
        {"rows": [_ROW], "versions": _VERSIONS, "position": _POSITION},
        **_POSITIONED,
    ),
    "changes": _message(
        "changes",
        "Changes that became known together.",
        {
            "changes": {"type": "array", "items": _ref("Change")},
            "key": _KEY,
            "versions": _ref("Versions"),
            "committed_at": {"type": ["string", "null"], "format": "date-time"},
        },
        {
            "changes": [{"change": "insert", "before": None, "after": _ROW}],
            "key": ["day", "step"],
            "versions": _VERSIONS,
            "committed_at": "2026-11-02T12:03:10.123Z",
            "position": _POSITION,
        },
        conflated={"const": True, "description": "These stand for several groups."},
        **_POSITIONED,
    ),
    "heartbeat": _message(
        "heartbeat",
        "Nothing has changed up to a position.",
        {
            "versions": _ref("Versions"),
            "at": {"type": "string", "format": "date-time"},
            "position": _ref("Position"),
        },
        {"versions": _VERSIONS, "at": "2026-11-02T12:03:25.000Z", "position": _POSITION},
    ),
    "warning": _message(
        "warning",
        "`slow`: too much waits; `stale`: the tables can't be read now; `missing`: tables are not there yet.",
        {"reason": {"enum": ["slow", "stale", "missing"]}},
        {"reason": "slow", "waiting_bytes": 700_000, "budget_bytes": 1_048_576},
        waiting_bytes={"type": "integer", "description": "Bytes of changes that wait, if `slow`."},
        budget_bytes={"type": "integer", "description": "How many may wait, if `slow`."},
        error={"type": "string", "description": "Why, if `stale`."},
        tables={"type": "array", "items": TABLE, "description": "Which ones, if `missing`."},
    ),
    "closed": _message(
        "closed",
        "The last message: why the server ends the subscription.",
        {"reason": TEXT},
        {"reason": "too slow: 5,000,000 bytes of changes wait, after conflation"},
    ),
}
_NULLABLE_ROW: Schema = {"oneOf": [_ref("Row"), {"type": "null"}]}
_TERMS: dict[str, Schema] = {"interval": INTERVAL, "conflate": CONFLATE, "budget": BUDGET}
_WANTED: dict[str, Schema] = {"table": TABLE, "sql": TEXT, "where": WHERE, "select": SELECT}
_WEBHOOK: dict[str, Schema] = {
    "id": TEXT,
    "url": {"type": "string", "format": "uri"},
    "interval": INTERVAL,
    "state": {"enum": ["active", "failing", "disabled"]},
    "position": {"type": ["string", "null"]},
    "sent": {"type": "integer", "description": "Number of the last delivery."},
    "failing_since": {"type": ["string", "null"], "format": "date-time"},
    "last_error": {"type": ["string", "null"]},
}

SCHEMAS: dict[str, Schema] = {
    "Row": {"type": "object", "description": "A row by column. Decimals are text, times RFC 3339 in UTC."},
    "Versions": {
        "type": "object",
        "description": "Versions of the tables.",
        "additionalProperties": {"type": "integer"},
    },
    "Position": {
        "type": "string",
        "description": "Completes a group, and resumes after it.",
        "examples": [_POSITION],
    },
    "Change": _object(
        {
            "change": {"enum": ["insert", "update", "delete"]},
            "before": _NULLABLE_ROW,
            "after": _NULLABLE_ROW,
        }
    ),
    **{name.capitalize(): schema for name, schema in MESSAGES.items()},
    "Message": {"oneOf": [_ref(name.capitalize()) for name in MESSAGES]},
    "Messages": _object({"messages": {"type": "array", "items": _ref("Message")}}),
    "Subscribe": _object(
        {},
        {**_WANTED, "after": TEXT, **_TERMS},
        description="The first message of a WebSocket: a table or a query, and how to be served.",
        examples=[{"table": "gold.funnel", "interval": 2}],
    ),
    "Terms": _object(
        {}, _TERMS, description="Changes how the subscription is served.", examples=[{"interval": 5}]
    ),
    "Table": _object(
        {
            "table": TABLE,
            "row": TEXT,
            "key": _KEY,
            "columns": {"type": "object", "additionalProperties": TEXT},
        }
    ),
    "Tables": _object({"tables": {"type": "array", "items": _ref("Table")}}),
    "Health": _object(
        {"status": {"const": "ok"}}, {"subscribers": {"type": "integer"}, "channels": {"type": "integer"}}
    ),
    "Error": _object({"error": TEXT}, examples=[{"error": "interval is x. Write a number from 0 to 3,600"}]),
    "NewWebhook": _object(
        {"url": {"type": "string", "format": "uri", "maxLength": 2000}},
        {**_WANTED, "interval": INTERVAL, "after": _ref("Position")},
        examples=[{"url": "http://127.0.0.1:8000/hook", "table": "gold.funnel"}],
    ),
    "Webhook": _object(_WEBHOOK, _WANTED),
    "CreatedWebhook": _object({**_WEBHOOK, "secret": TEXT}, _WANTED),
    "Webhooks": _object({"webhooks": {"type": "array", "items": _ref("Webhook")}}),
}
