"""The records behind a conversion: coordinates in Kafka, time received, raw bytes."""

import polars as pl
from tables.query import Query
from tables.table_cache import Ask

from metrics.story import Row, Story

_MOST = 40  # records, each of which is looked up
_EVENT = ("event_id", "role", "type", "topic", "partition", "offset", "ingested_at")
_PLACE = ("topic", "partition", "offset")
_SCHEMA = {
    "event": pl.String,
    **dict.fromkeys(_PLACE, pl.Int64),
    "topic": pl.String,
    "received": pl.Datetime("us", "UTC"),
    "record": pl.String,
}


def records_behind(ask: Ask, conversion_id: str, event_ids: tuple[str, ...]) -> pl.DataFrame:
    """Records of a conversion's events, in order of their coordinates: event, coordinates, received, record.

    Args:
        ask: runs queries.
        conversion_id: the conversion, whose touches' events are added.
        event_ids: UIDs of events.
    """
    credited = Query("gold.attribution", ("touch_id",)).only("conversion_id", "=", conversion_id)
    touch_ids = tuple(sorted(set(ask(credited)["touch_id"].drop_nulls())))
    touches = ask(Query("gold.touches", ("event_id",)).only("touch_id", "in", touch_ids))["event_id"]
    wanted = tuple(sorted({*event_ids, *touch_ids, *touches}))
    events = ask(Query("silver.events", _EVENT, order=_PLACE).only("event_id", "in", wanted)).head(_MOST)
    return pl.DataFrame([_record(ask, event) for event in events.to_dicts()], _SCHEMA)


def events_of(story: Story) -> tuple[str, ...]:
    """UIDs of the events in a conversion's trail, and of its goal."""
    steps = (step["event_id"] for step in story.trail)
    return tuple(sorted({story.conversion["event_id"], *steps} - {None}))


def _record(ask: Ask, event: Row) -> Row:
    """The record of an event, found by its coordinates; its ingest stamp names the files to read."""
    query = Query("bronze.kafka_records", ("timestamp", "value"), limit=1)
    for name in (*_PLACE, "ingested_at"):
        query = query.only(name, "=", event[name])
    rows = ask(query).to_dicts()
    value = rows[0]["value"] if rows else None
    return {
        "event": event["role"] or event["type"],
        **{name: event[name] for name in _PLACE},
        "received": rows[0]["timestamp"] if rows else None,
        "record": None if value is None else value.decode("utf-8", "replace"),
    }
