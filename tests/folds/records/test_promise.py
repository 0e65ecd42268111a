"""Promises of producers: which records are some, and what others without a value are."""

from typing import Any

import pytest

from folds.records import outcomes
from folds.records.outcomes import Heartbeat, Promise, Rejection
from folds.records.parse import parse
from kit.parser import RULES

NOON = 1_772_366_400_000_000
TIME, SOURCE, PROMISE, BEAT = (
    b"2026-03-01T12:00:00Z",
    "source",
    "promise",
    ("heartbeat", b"2026-03-01T12:00:00Z"),
)
EMPTY, BEATEN = Rejection("empty", 5), Heartbeat(NOON)

PROMISES = {
    "a time": ([(SOURCE, b"shop"), (PROMISE, TIME)], Promise("shop", NOON)),
    "a time with an offset": (
        [(SOURCE, b"shop"), (PROMISE, b"2026-03-01T13:00:00+01:00")],
        Promise("shop", NOON),
    ),
    "the end": ([(SOURCE, b"shop"), (PROMISE, b"end")], Promise("shop", None)),
    "a node": ([(SOURCE, b"shop@eu@1"), (PROMISE, TIME)], Promise("shop@eu@1", NOON)),
    "not in English": ([(SOURCE, "caf\u00e9".encode()), (PROMISE, TIME)], Promise("caf\u00e9", NOON)),
    "the longest name": ([(SOURCE, b"s" * 256), (PROMISE, TIME)], Promise("s" * 256, NOON)),
    "a heartbeat too": ([BEAT, (SOURCE, b"shop"), (PROMISE, b"end")], Promise("shop", None)),
    "the first of each": (
        [(PROMISE, b"end"), (SOURCE, b"shop"), (SOURCE, b"app"), (PROMISE, TIME)],
        Promise("shop", None),
    ),
}
MALFORMED = {
    "no source": [(PROMISE, TIME)],
    "an empty source": [(SOURCE, b""), (PROMISE, TIME)],
    "a source of null": [(SOURCE, None), (PROMISE, TIME)],
    "a node of nobody": [(SOURCE, b"@1"), (PROMISE, TIME)],
    "a source that is no UTF-8": [(SOURCE, b"\xff"), (PROMISE, TIME)],
    "a source that is too long": [(SOURCE, b"s" * 257), (PROMISE, TIME)],
    "no promise": [(SOURCE, b"shop")],
    "a promise of null": [(SOURCE, b"shop"), (PROMISE, None)],
    "an empty promise": [(SOURCE, b"shop"), (PROMISE, b"")],
    "a promise that is no time": [(SOURCE, b"shop"), (PROMISE, b"soon")],
    "a promise that is no UTF-8": [(SOURCE, b"shop"), (PROMISE, b"\xff")],
    "the end in capitals": [(SOURCE, b"shop"), (PROMISE, b"END")],
}


def outcome(headers: Any, value: bytes | None = None, is_rate: bool = False) -> outcomes.Outcome:
    return parse(outcomes.Record(value, 5, headers, is_rate), RULES)


@pytest.mark.parametrize("case", PROMISES)
def test_a_promise(case: str) -> None:
    headers, wanted = PROMISES[case]
    assert outcome(headers) == wanted


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_malformed_is_what_it_was_without(case: str) -> None:
    assert outcome(MALFORMED[case]) == EMPTY
    assert outcome([*MALFORMED[case], BEAT]) == BEATEN


def test_a_record_with_a_value_or_of_a_rate_is_no_promise() -> None:
    headers, _ = PROMISES["a time"]
    assert outcome(headers, b"") == EMPTY
    assert outcome(headers, b"{}") == Rejection("no_message_id", 5)
    assert outcome(headers, is_rate=True) == EMPTY
