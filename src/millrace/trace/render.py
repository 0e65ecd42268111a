"""Renders traces as text and JSON."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from lakehouse.timestamps import rfc3339
from millrace.trace.history import Place
from millrace.trace.records import CONTEXT, COUNTED, RATE, Trace, TracedRecord

_TEXT = 120  # characters of a record
_PARTS = {
    COUNTED: "counted: records that the figure is about",
    CONTEXT: "context: records that decide how these count",
    RATE: "rate: exchange rates that apply",
}


def as_lines(found: Trace, in_kafka: Mapping[Place, str], most: int) -> Iterator[str]:
    """The trace as text.

    Args:
        found: the trace.
        in_kafka: by coordinates, the result of the comparison; empty without one.
        most: number of records to show of each part.
    """
    rows = len(found.rows)
    yield f"{found.table.name}: {rows:,} row{'s' * (rows != 1)}, from {len(found.records):,} records"
    for row in found.rows[:most]:
        yield "  " + ", ".join(f"{name} {_text(row[name])}" for name in found.table.key)
    for part, words in _PARTS.items():
        records = [each for each in found.records if each.part == part]
        if records:
            yield f"{words} ({len(records):,})"
            yield from (_line(each, in_kafka) for each in records[:most])
        if len(records) > most:
            yield f"  … {len(records) - most:,} more; --all shows them"


def as_dict(record: TracedRecord, in_kafka: Mapping[Place, str]) -> dict[str, Any]:
    """A record as JSON; bytes are Base64."""
    stored = record.stored or {}
    return {
        "part": record.part,
        **record.place._asdict(),
        "event_id": record.event_id,
        "what": record.what,
        **{name: rfc3339(stored[name]) for name in ("timestamp", "ingested_at") if name in stored},
        **{name: _base64(stored[name]) for name in ("key", "value") if name in stored},
        **({"in_kafka": in_kafka[record.place]} if record.place in in_kafka else {}),
    }


def _line(record: TracedRecord, in_kafka: Mapping[Place, str]) -> str:
    stored = record.stored
    value = b"" if stored is None else bytes(stored["value"] or b"")
    parts = (
        f"{record.place.topic}/{record.place.partition}/{record.place.offset}",
        "not in bronze" if stored is None else rfc3339(stored["timestamp"]),
        record.what or "",
        in_kafka.get(record.place, ""),
        value[: 4 * _TEXT].decode("utf-8", "replace")[:_TEXT],
    )
    return "  " + "  ".join(part for part in parts if part)


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return rfc3339(value) if hasattr(value, "hour") else str(value)


def _base64(value: Any) -> str | None:
    return None if value is None else base64.b64encode(bytes(value)).decode()
