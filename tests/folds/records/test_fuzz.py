"""Generated hostile records: the parser and the oracle agree on every field."""

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
    """Fields of a record that the parser reads differently from the oracle."""
    return [
        f"{name}: {row[name]!r} instead of {wanted!r}"
        for name, wanted in expect(record).items()
        if not is_same_value(row[name], wanted)
    ]


def is_same_value(found: Any, wanted: Any) -> bool:
    """Whether two values are equal, JSON text regardless of its spacing and escapes."""
    if found == wanted:
        return True
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(is_same_value, found, wanted))
    texts = isinstance(found, str) and isinstance(wanted, str)
    return texts and wanted[:1] in ("{", "[") and _parse_json(found) == _parse_json(wanted)


def _parse_json(value: str) -> Any:
    """Parsed JSON, with unpaired surrogates replaced by question marks."""
    try:
        return _without_unpaired_surrogates(json.loads(value, parse_int=Number, parse_float=Number))
    except ValueError:
        return None


def _without_unpaired_surrogates(value: Any) -> Any:
    if isinstance(value, dict):
        return {text(key): _without_unpaired_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_unpaired_surrogates(item) for item in value]
    return text(value) if type(value) is str else value


def check(records: list[Record]) -> None:
    """Fail with the shortest records that the parser reads differently from the oracle."""
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


first_generated = cache(lambda: make_up(500))


def test_first_generated_records_match_oracle() -> None:
    check(first_generated())


@pytest.mark.parametrize("number", range(1, 3))
def test_generated_records_match_oracle(number: int) -> None:
    check(make_up(500, number))


@pytest.mark.long
@pytest.mark.parametrize("number", range(3, 60))
def test_many_generated_records_match_oracle(number: int) -> None:
    check(make_up(500, number))


@pytest.mark.parametrize("value", [b"", b"{", b"[" * 100_000, b'{"a":' * 100_000, b'"' * 9, b"\\u", b"\xff"])
@pytest.mark.parametrize("is_rate", [False, True])
def test_malformed_bytes_are_rejected(value: bytes, is_rate: bool) -> None:
    assert isinstance(parse_record(outcomes.Record(value, 0, (), is_rate), RULES), outcomes.Rejection)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=64), st.booleans())
def test_parser_never_raises_on_arbitrary_bytes(value: bytes, is_rate: bool) -> None:
    parse_record(outcomes.Record(value, 0, (("heartbeat", value),), is_rate), RULES)
    parse_record(outcomes.Record(None, 0, (("source", value), ("promise", value)), is_rate), RULES)


def test_generated_records_cover_many_roles_and_rejections() -> None:
    expected = [expect(record) for record in first_generated()]
    assert len({each["reason"] for each in expected if each["reason"]}) >= 5
    assert len({each["role"] for each in expected if "role" in each}) >= 5
    assert sum(each["reason"] is None for each in expected) > 100
