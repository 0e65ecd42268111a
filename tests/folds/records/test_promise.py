"""Classification of records without a value: producer promises, heartbeats and empty records."""

from typing import Any

import pytest

from folds.records import outcomes
from folds.records.outcomes import Heartbeat, Promise, Rejection
from folds.records.parse import parse
from kit.parser import RULES

NOON = 1_772_366_400_000_000
TIME, SOURCE, PROMISE, HEARTBEAT_HEADER = (
    b"2026-03-01T12:00:00Z",
    "source",
    "promise",
    ("heartbeat", b"2026-03-01T12:00:00Z"),
)
EMPTY, HEARTBEAT = Rejection("empty", 5), Heartbeat(NOON)

PROMISES = {
    "a time": ([(SOURCE, b"shop"), (PROMISE, TIME)], Promise("shop", NOON)),
    "a time with an offset": (
        [(SOURCE, b"shop"), (PROMISE, b"2026-03-01T13:00:00+01:00")],
        Promise("shop", NOON),
    ),
    "end": ([(SOURCE, b"shop"), (PROMISE, b"end")], Promise("shop", None)),
    "a node of a producer": ([(SOURCE, b"shop@eu@1"), (PROMISE, TIME)], Promise("shop@eu@1", NOON)),
    "a non-ASCII source": ([(SOURCE, "caf\u00e9".encode()), (PROMISE, TIME)], Promise("caf\u00e9", NOON)),
    "a source of maximum length": ([(SOURCE, b"s" * 256), (PROMISE, TIME)], Promise("s" * 256, NOON)),
    "beside a heartbeat header": (
        [HEARTBEAT_HEADER, (SOURCE, b"shop"), (PROMISE, b"end")],
        Promise("shop", None),
    ),
    "the first of duplicate headers counts": (
        [(PROMISE, b"end"), (SOURCE, b"shop"), (SOURCE, b"app"), (PROMISE, TIME)],
        Promise("shop", None),
    ),
}
MALFORMED = {
    "no source": [(PROMISE, TIME)],
    "an empty source": [(SOURCE, b""), (PROMISE, TIME)],
    "a source of null": [(SOURCE, None), (PROMISE, TIME)],
    "a node without a producer": [(SOURCE, b"@1"), (PROMISE, TIME)],
    "a source that is not UTF-8": [(SOURCE, b"\xff"), (PROMISE, TIME)],
    "a source that is too long": [(SOURCE, b"s" * 257), (PROMISE, TIME)],
    "no promise": [(SOURCE, b"shop")],
    "a promise of null": [(SOURCE, b"shop"), (PROMISE, None)],
    "an empty promise": [(SOURCE, b"shop"), (PROMISE, b"")],
    "a promise that is not a time": [(SOURCE, b"shop"), (PROMISE, b"soon")],
    "a promise that is not UTF-8": [(SOURCE, b"shop"), (PROMISE, b"\xff")],
    "end in capitals": [(SOURCE, b"shop"), (PROMISE, b"END")],
}


def outcome(headers: Any, value: bytes | None = None, is_rate: bool = False) -> outcomes.Outcome:
    return parse(outcomes.Record(value, 5, headers, is_rate), RULES)


@pytest.mark.parametrize("case", PROMISES)
def test_record_with_source_and_promise_headers_is_a_promise(case: str) -> None:
    headers, wanted = PROMISES[case]
    assert outcome(headers) == wanted


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_promise_headers_are_ignored(case: str) -> None:
    assert outcome(MALFORMED[case]) == EMPTY
    assert outcome([*MALFORMED[case], HEARTBEAT_HEADER]) == HEARTBEAT


def test_promise_headers_are_ignored_with_a_value_or_on_a_rate() -> None:
    headers, _ = PROMISES["a time"]
    assert outcome(headers, b"") == EMPTY
    assert outcome(headers, b"{}") == Rejection("no_message_id", 5)
    assert outcome(headers, is_rate=True) == EMPTY
