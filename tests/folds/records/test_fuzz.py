"""Records made up by a generator, through the parser: field by field as the oracle reads them."""

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folds.records import outcomes
from folds.records.parse import parse as parse_record
from kit.hostile import make_up
from kit.oracle import read_record
from kit.oracle_wire import Number, text
from kit.parser import FIELDS, RULES, parse
from kit.records import SENT, Record, Stored


def expect(record: Record) -> dict[str, Any]:
    read = read_record(Stored(record, 0, SENT))
    if read.promise:
        source, at = read.promise
        return {"reason": None, "heartbeat_at": None, "promise_source": source, "promised_at": at}
    if read.reason or read.heartbeat is not None:
        return {"reason": read.reason, "heartbeat_at": read.heartbeat}
    return {"reason": None, "heartbeat_at": None, **{name: read.fields.get(name) for name in FIELDS}}


def differences(record: Record, row: dict[str, Any]) -> list[str]:
    """What the parser made otherwise of a record than the oracle did."""
    return [
        f"{name}: {row[name]!r} instead of {wanted!r}"
        for name, wanted in expect(record).items()
        if not same(row[name], wanted)
    ]


def same(found: Any, wanted: Any) -> bool:
    """Whether two values are the same: of JSON text, how it is spaced and escaped does not count."""
    if found == wanted:
        return True
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    texts = isinstance(found, str) and isinstance(wanted, str)
    return texts and wanted[:1] in ("{", "[") and _read(found) == _read(wanted)


def _read(value: str) -> Any:
    """JSON; a surrogate without its other half is a question mark."""
    try:
        return _paired(json.loads(value, parse_int=Number, parse_float=Number))
    except ValueError:
        return None


def _paired(value: Any) -> Any:
    if isinstance(value, dict):
        return {text(key): _paired(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_paired(item) for item in value]
    return text(value) if type(value) is str else value


def check(records: list[Record]) -> None:
    """All as the oracle says, else the shortest of those that are not."""
    wrong = []
    for record, row in zip(records, parse(records), strict=True):
        if found := differences(record, row):
            wrong.append((len(record.value or b""), record, found))
    wrong.sort(key=lambda each: each[0])
    listed = "\n".join(
        f"{record.value!r} {record.headers}\n    " + "\n    ".join(found) for _, record, found in wrong[:8]
    )
    if wrong:
        pytest.fail(f"{len(wrong)} of {len(records)} records read otherwise:\n{listed}", pytrace=False)


first_made_up = cache(lambda: make_up(500))


def test_first_made_up_records() -> None:
    check(first_made_up())


@pytest.mark.parametrize("number", range(1, 3))
def test_made_up_records(number: int) -> None:
    check(make_up(500, number))


@pytest.mark.long
@pytest.mark.parametrize("number", range(3, 60))
def test_many_made_up_records(number: int) -> None:
    check(make_up(500, number))


@pytest.mark.parametrize("value", [b"", b"{", b"[" * 100_000, b'{"a":' * 100_000, b'"' * 9, b"\\u", b"\xff"])
@pytest.mark.parametrize("is_rate", [False, True])
def test_any_bytes_give_a_rejection(value: bytes, is_rate: bool) -> None:
    assert isinstance(parse_record(outcomes.Record(value, 0, (), is_rate), RULES), outcomes.Rejection)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=64), st.booleans())
def test_no_bytes_raise(value: bytes, is_rate: bool) -> None:
    parse_record(outcomes.Record(value, 0, (("heartbeat", value),), is_rate), RULES)
    parse_record(outcomes.Record(None, 0, (("source", value), ("promise", value)), is_rate), RULES)


def test_what_is_made_up_is_of_many_kinds() -> None:
    expected = [expect(record) for record in first_made_up()]
    assert len({each["reason"] for each in expected if each["reason"]}) >= 5
    assert len({each["role"] for each in expected if "role" in each}) >= 5
    assert sum(each["reason"] is None for each in expected) > 100
