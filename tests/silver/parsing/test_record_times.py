"""Kafka timestamps of any kind, through the function of the Python workers. Needs no Spark."""

import pyarrow as pa
import pytest

from kit.oracle_wire import micros
from kit.parser import RULES
from kit.records import NOON, Stored, bronze_rows, heartbeat, promise, record
from kit.records import Record as Sent
from silver.parsing.parse_worker import parse_batch

STAMP = micros(NOON)
TIMES = ("timestamp", "arrival_time", "event_time")


def parsed(sent: Sent, timestamp: int) -> dict[str, int | None]:
    """The times of a record, in microseconds."""
    rows = bronze_rows([Stored(sent, 0, NOON)])
    at = pa.array([timestamp], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = rows.set_column(rows.schema.get_field_index("timestamp"), "timestamp", at)
    (batch,) = rows.to_batches()
    found = parse_batch(batch, RULES, ("exchange_rates", "campaign_costs"))
    return {name: found.column(name).cast(pa.int64())[0].as_py() for name in TIMES}


@pytest.mark.parametrize("timestamp", [1000 * STAMP, 2**63 - 1, -1, -(2**63)])
def test_timestamp_out_of_range_is_replaced_by_time_of_ingest(timestamp: int) -> None:
    body = {"messageId": "1", "type": "page", "anonymousId": "v"}
    assert parsed(record(body), timestamp) == dict.fromkeys(TIMES, STAMP)
    assert parsed(record("{"), timestamp) == {**dict.fromkeys(TIMES, STAMP), "event_time": None}
    for without_event in (heartbeat("2026-03-01T12:00:00Z"), promise("shop@1", NOON)):
        assert parsed(without_event, timestamp)["timestamp"] == STAMP


@pytest.mark.parametrize("timestamp", [0, STAMP - 10**15, STAMP + 10**15])
def test_other_timestamps_count(timestamp: int) -> None:
    body = {"messageId": "1", "type": "page", "anonymousId": "v"}
    assert parsed(record(body), timestamp) == dict.fromkeys(TIMES, timestamp)
