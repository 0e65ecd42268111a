"""Parses Arrow batches of bronze records in a Python worker. Needs no Spark."""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh64_intdigest

from folds.records.event_time import record_time
from folds.records.outcomes import (
    CampaignCost,
    Event,
    ExchangeRate,
    Heartbeat,
    Outcome,
    Promise,
    Record,
    Rejection,
)
from folds.records.parse import parse
from folds.records.parse_rules import ParseRules
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.costs import COST_RECORDS
from silver.dedup.classification import COST, EVENT, HEARTBEAT, RATE, REJECTED

RECORD = ("topic", "partition", "offset", "timestamp", "ingested_at")
"""Columns of the record: as in bronze, but for a timestamp that `record_time` replaces."""

COST_TYPE = pa.struct([arrow_schema(COST_RECORDS).field(name) for name in COST_RECORDS.deterministic_columns])
"""The columns of silver.cost_records that one record determines: one column, null in other records."""

_TIME = pa.timestamp("us", "UTC")
_TYPES = {
    "event_time": _TIME,
    "device_time": _TIME,
    "has_context_campaign": pa.bool_(),
    "is_server_event": pa.bool_(),
    "has_internal_referrer": pa.bool_(),
    "consent_analytics": pa.bool_(),
    "consent_attribution": pa.bool_(),
    "consent_ads": pa.bool_(),
    "arrival_time": _TIME,
    "value": pa.decimal128(18, 4),
    "shown_products": pa.list_(pa.string()),
    "heartbeat_at": _TIME,
    "promised_at": _TIME,
    "rate": pa.decimal128(19, 10),
    "valid_from": _TIME,
    "raw": pa.binary(),
    "campaign_cost": COST_TYPE,
}
_OTHERS = (
    *("reason", "heartbeat_at", "promise_source", "promised_at"),
    *("rate", "valid_from", "campaign_cost", "raw", "record_class"),
)
PARSED = (*Event.__struct_fields__, *_OTHERS)
"""Columns that the parser computes."""

COLUMNS = (*RECORD, *PARSED, "event_hash")
"""Columns of a candidate (a parsed record)."""

_WIDTH = len(PARSED)
_EVENT = (None,) * (len(_OTHERS) - 1) + (EVENT,)
_ARRIVAL, _CURRENCY = PARSED.index("arrival_time"), PARSED.index("currency")
_ID = PARSED.index("event_id")
_REASON, _HEARTBEAT, _SOURCE, _PROMISED, _RATE, _VALID_FROM, _COST, _RAW, _CLASS = map(PARSED.index, _OTHERS)
_SEED = 42  # of Spark's xxhash64

_log = logging.getLogger(__name__)
_rules: ParseRules | None = None


def arrow_parser(
    rules: ParseRules, side_topics: tuple[str, str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow`, called once per partition.

    Args:
        rules: roles and channels.
        side_topics: the topics of exchange rates, and of campaign costs.
    """

    def parse_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = _with_cache(rules)
        for batch in batches:
            yield parse_batch(batch, known, side_topics)

    return parse_batches


def parse_batch(batch: pa.RecordBatch, rules: ParseRules, side_topics: tuple[str, str]) -> pa.RecordBatch:
    """Parse a batch of bronze records to candidates, one row per record, in order.

    Args:
        batch: of bronze.kafka_records; headers are read only if the value is null.
        rules: roles and channels.
        side_topics: the topics of exchange rates, and of campaign costs.

    Returns:
        `RECORD`, `PARSED`, and `event_hash`: Spark's xxhash64 of an event's UID. `PARSED` has the columns of
        silver.events that one record determines; `reason` and `raw` (the value) of a rejection;
        `heartbeat_at` of a heartbeat; `promise_source` and `promised_at` of a promise, which has the class of
        heartbeats; `currency`, `rate` and `valid_from` of an exchange rate; `campaign_cost` of a cost; and
        `record_class`.
        Columns that do not apply are null.
    """
    batch, values = _with_record_times(batch), batch.column("value").to_pylist()
    rows = [_row(_outcome(record, rules), record) for record in _records(batch, values, side_topics)]
    columns = zip(*rows, strict=True) if rows else [()] * _WIDTH
    of_record = [batch.column(name) for name in RECORD]
    parsed = [_array(name, column) for name, column in zip(PARSED, columns, strict=True)]
    hashes = pa.array([_hash(row[_ID]) for row in rows], pa.int64())
    return pa.RecordBatch.from_arrays([*of_record, *parsed, hashes], names=list(COLUMNS))


def _hash(event_id: str | None) -> int | None:
    if event_id is None:
        return None
    unsigned = xxh64_intdigest(event_id, _SEED)
    return unsigned - 2**64 if unsigned >= 2**63 else unsigned


def _with_cache(rules: ParseRules) -> ParseRules:
    """Return this process's copy of equal rules, to reuse its caches."""
    global _rules  # noqa: PLW0603
    if _rules is None or _rules != rules:
        _rules = rules
    return _rules


def _with_record_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    stored = batch.column("timestamp")
    times = (column.cast(pa.int64()).to_pylist() for column in (stored, batch.column("ingested_at")))
    counted = pa.array(map(record_time, *times), pa.int64()).cast(stored.type)
    return batch.set_column(batch.schema.get_field_index("timestamp"), "timestamp", counted)


def _records(
    batch: pa.RecordBatch, values: list[bytes | None], side_topics: tuple[str, str]
) -> Iterator[Record]:
    stamps = batch.column("timestamp").cast(pa.int64()).to_pylist()
    of_side = [pc.equal(batch.column("topic"), topic).to_pylist() for topic in side_topics]
    headers = batch.column("headers")
    for number, (value, stamp, *is_of) in enumerate(zip(values, stamps, *of_side, strict=True)):
        yield Record(value, stamp, _headers(headers[number]) if value is None else (), *is_of)


def _outcome(record: Record, rules: ParseRules) -> Outcome:
    """Parse a record. If the parser fails, the record is rejected.

    Such a rejection can be queried, counted and replayed like any other. The stack trace is in the worker's
    log.
    """
    try:
        return parse(record, rules)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the record is kept, in bronze and as a rejection
        _log.exception("a record could not be parsed")
        return Rejection("parser_error", record.timestamp)


def _headers(sent: Any) -> list[tuple[str, bytes | None]]:
    return [(header["key"], header["value"]) for header in sent.as_py() or ()]


def _row(outcome: Outcome, record: Record) -> tuple[Any, ...]:
    """The values of a parsed record, in the order of `PARSED`."""
    if isinstance(outcome, Event):
        return msgspec.structs.astuple(outcome) + _EVENT
    row: list[Any] = [None] * _WIDTH
    match outcome:
        case Rejection(reason=reason, arrival_time=arrival):
            row[_REASON], row[_ARRIVAL], row[_RAW] = reason, arrival, record.value
            row[_CLASS] = REJECTED
        case Heartbeat(heartbeat_at=at):
            row[_HEARTBEAT], row[_CLASS] = at, HEARTBEAT
        case Promise(promise_source=source, promised_at=at):
            row[_SOURCE], row[_PROMISED], row[_CLASS] = source, at, HEARTBEAT
        case ExchangeRate(currency=code, rate=rate, valid_from=start, arrival_time=arrival):
            row[_CURRENCY], row[_RATE], row[_VALID_FROM], row[_ARRIVAL] = code, rate, start, arrival
            row[_CLASS] = RATE
        case CampaignCost():
            row[_COST], row[_CLASS] = msgspec.structs.asdict(outcome), COST
    return tuple(row)


def _array(name: str, column: tuple[Any, ...]) -> pa.Array:
    return pa.array(column, _TYPES.get(name, pa.string()))
