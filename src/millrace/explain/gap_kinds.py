"""Kinds of what events lack for attribution: what is missing, and what to do, for files and for tables."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class GapKind:
    """Something that events lack.

    Attributes:
        what: the events, as a plural.
        advice: what to do.
        in_tables: whether it shows in the tables of silver and gold.
    """

    what: str
    advice: str
    in_tables: bool = True


KINDS = {
    "unreadable_refund": GapKind(
        "refunds whose amount cannot be read: each counts for all that is left of its order",
        "Send the amount as a number",
    ),
    "unreadable_value": GapKind("orders whose value cannot be read", "Send the value as a number"),
    "no_value": GapKind(
        "orders and refunds without a value", "Send `total`, or name its property in conf/roles.yml"
    ),
    "no_currency": GapKind("amounts without a currency", "Send `currency`, as an ISO 4217 code"),
    "no_rate": GapKind(
        "amounts in a currency without an exchange rate",
        "Load rates that are valid from before these amounts: `millrace load FILE --format rates`",
    ),
    "negative_value": GapKind("orders with a negative value", "Send what comes back as `Order Refunded`"),
    "refused": GapKind("records refused", "See the examples of this reason"),
    "unreadable_time": GapKind(
        "events with a time that cannot be read", "Send RFC 3339, as 2026-11-02T10:00:00Z"
    ),
    "no_time": GapKind("events without a time, which count at their arrival", "Send `originalTimestamp`"),
    "placeholder_id": GapKind(
        "events with a placeholder for an id", "Leave out an id that is not known", in_tables=False
    ),
    "snake_case_id": GapKind(
        "events with ids in snake case, which are not read",
        "Send `anonymousId` and `userId`",
        in_tables=False,
    ),
    "unreadable_link": GapKind(
        "events on a tagged link that cannot be read",
        "Write `?utm_source=…&utm_medium=…`, with values that the sender has filled in",
    ),
    "unknown_user": GapKind(
        "events of servers whose user no visitor logged in as",
        "Send the `anonymousId` with the order, or `identify` in the browser",
    ),
    "no_consent": GapKind(
        "events without `context.consent`", "Send it where the law asks for consent", in_tables=False
    ),
}
"""By name, in order of what they cost. A check of a file lists refused records by themselves."""

REASONS = {
    "empty": "Send no records without a value: a heartbeat or a promise needs a time that can be read",
    "not_json": "Send one JSON object in UTF-8 in each record",
    "no_message_id": "Send `messageId`, a different one for each event",
    "bad_message_id": "Send a `messageId` of 1 to 256 characters",
    "no_type": "Send `type`",
    "unknown_type": "Send as `type`: page, screen, track, identify, group or alias",
    "no_identity": "Send `anonymousId` or `userId`; a placeholder such as `null` is neither",
    "bad_rate": "Send `currency`, a `rate` above 0, and `valid_from`",
    "bad_cost": "Send the fields of docs/costs.md, or use `millrace load FILE --format costs`",
    "parser_error": "Report it: the log of Spark's Python worker has the trace",
    "future": "Run `millrace replay`: such events are not refused any more",
}
"""By reason of a rejection, what to do."""

TAGGED_LINK = r"(?i)utm(?:[_-]|%5F)(?:source|medium|campaign|id)\b"
"""Matches addresses with a parameter that names a campaign. Python, Java and Rust read it alike."""

_UNFILLED = re.compile(r"\ufffd|%[0-9A-F]{2}|\{[^}]*\}|\[\[[^]]*\]\]|\*\|", re.IGNORECASE)
"""What is left of bytes that are no UTF-8, and of templates that the sender has not filled in."""


def is_unfilled(field: str) -> bool:
    """Whether a campaign field has what is left of a template, or of bytes that are no UTF-8."""
    return _UNFILLED.search(field) is not None
