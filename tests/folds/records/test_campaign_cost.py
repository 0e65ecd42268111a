"""Records of campaign costs are parsed or rejected as the oracle says."""

import json
from datetime import datetime, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.records.outcomes import CampaignCost, Rejection
from kit.oracle_costs import COSTS_TOPIC, cost_of
from kit.parser import outcome_of
from kit.records import Record, Stored, record

NOW = datetime(2026, 3, 2, tzinfo=timezone.utc)
COST = {
    "platform": "google-ads",
    "account": "1-2",
    "day": "2026-03-01",
    "campaign_name": "brand",
    "cost": "12.34",
    "currency": "eur",
    "loaded_at": "2026-03-02T06:00:00Z",
    "load_id": "a1",
    "load_row": 1,
    "load_rows": 2,
}
ODD = [
    *(None, "", " ", "0", 0, -1, 1.5, "1.5", "1e3", "x", True, [], {}, "2026-02-30", "2026-3-1", "20260301"),
    *("1969-12-31", "EURO", "€", "12,5", "NaN", 3, 10**20, "9" * 15, "0.00005", "-0.00005"),
]


def compare(sent: Record) -> Any:
    found, wanted = outcome_of(sent), cost_of(Stored(sent, 0, NOW))
    if isinstance(wanted, str):
        assert isinstance(found, Rejection)
        assert found.reason == wanted
    else:
        assert isinstance(found, CampaignCost)
        assert msgspec.structs.asdict(found) == wanted
    return found


def test_cost_is_parsed() -> None:
    assert isinstance(compare(record(COST, topic=COSTS_TOPIC)), CampaignCost)


@pytest.mark.parametrize("name", COST)
def test_required_field_that_is_missing_rejects_the_record(name: str) -> None:
    sent = {key: value for key, value in COST.items() if key != name}
    assert compare(record(sent, topic=COSTS_TOPIC)) == Rejection("bad_cost", outcome_arrival())


def outcome_arrival() -> int:
    found = outcome_of(record("[]", topic=COSTS_TOPIC))
    assert isinstance(found, Rejection)
    return found.arrival_time


@given(
    st.dictionaries(st.sampled_from([*COST, "clicks", "ad_group", "campaign_source"]), st.sampled_from(ODD))
)
def test_odd_values_are_read_as_the_oracle_does(odd: dict[str, Any]) -> None:
    compare(record(json.dumps(COST | odd), topic=COSTS_TOPIC))


@given(st.binary(max_size=60))
def test_malformed_bytes_are_rejected(value: bytes) -> None:
    assert isinstance(outcome_of(Record(value, topic=COSTS_TOPIC)), Rejection)
