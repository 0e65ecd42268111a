"""Tables for tests of three roles, and the rows and columns that each may read by docs/access.md."""

from pathlib import Path
from typing import Any

from kit.warehouse_builder import append_rows
from lakehouse.contracts import TABLES

CREDITS = [
    {"conversion_id": "c1", "model": model, "position": 1, "channel": channel, "credit": credit}
    for model, channel, credit in (("first", "Email", 0.1), ("last", "Direct", 0.9), ("linear", None, 0.5),
                                   ("time_decay", "Paid Search", 0.2), ("markov", "Email", 0.7))
]  # fmt: skip
CONVERSION = {
    "conversion_id": "c1",
    "visitor_id": "visitor-1",
    "person_id": "person-ann",
    "order_id": "order-1",
    "goal": "Signed Up",
}
SESSION = {"session_id": "s1", "visitor_id": "visitor-1", "is_open": True}
TABLE_OF_ROLE = {"admin": set(TABLES), "analyst": {name for name in TABLES if name[:2] in ("si", "go")}}
TABLE_OF_ROLE["marketing"] = {"gold.attribution", "gold.traffic", "gold.conversions", "silver.sessions"}
CONDITIONS: dict[str, dict[str, Any]] = {
    "admin": {},
    "analyst": {"channel": ["Email", "Paid Search"]},
    "marketing": {"channel": {"not": ["Direct"]}, "credit": {"gte": 0.2}},
}
HIDDEN: dict[str, set[str]] = {
    "admin": set(),
    "analyst": {"order_id"},
    "marketing": {"value", "value_sent", "reporting_value"},
}
ROLE_NAMES = ("admin", "analyst", "marketing")
SECRETS = ("person-ann", "visitor-1", "order-1")


def fill(home: Path) -> None:
    """Write the tables."""
    append_rows(home, "gold.attribution", CREDITS)
    append_rows(home, "gold.conversions", [CONVERSION])
    append_rows(home, "silver.sessions", [SESSION])
    append_rows(home, "bronze.kafka_records", [{"topic": "events", "value": b"{}"}])
