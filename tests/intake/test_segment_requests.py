"""Requests of Segment's HTTP API become messages that silver can read."""

import base64
import json
import re
import tracemalloc
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intake.encodings import read_pixel
from intake.segment_requests import (
    KINDS,
    BadRequestError,
    TooLargeError,
    read_request,
    read_write_key,
)

NOW = datetime(2026, 11, 2, 10, 0, 0, 123_000, tzinfo=timezone.utc)
BATCH = {
    "batch": [{"type": "track", "event": "A", "userId": "u"}, {"type": "page", "anonymousId": "a"}],
    "sentAt": "2026-11-02T09:59:59Z",
    "context": {"ip": "192.0.2.1"},
}


def messages_of(kind: str, body: object) -> list[dict[str, object]]:
    return [
        json.loads(message.value) for message in read_request(kind, json.dumps(body).encode()).messages(NOW)
    ]


def test_batch_messages_get_timestamps_and_context_of_the_batch() -> None:
    first, second = messages_of("batch", BATCH)
    for message in (first, second):
        assert message["sentAt"] == BATCH["sentAt"]
        assert message["context"] == BATCH["context"]
        assert message["receivedAt"] == "2026-11-02T10:00:00.123Z"
    assert (first["event"], second["type"]) == ("A", "page")


def test_message_fields_override_batch_fields() -> None:
    own = {"type": "page", "anonymousId": "a", "sentAt": "2026-01-01T00:00:00Z", "context": {}}
    (message,) = messages_of("batch", BATCH | {"batch": [own]})
    assert (message["sentAt"], message["context"]) == (own["sentAt"], {})


def test_byte_order_mark_before_body_is_skipped() -> None:
    mark = b"\xef\xbb\xbf"
    (one,) = read_request("track", mark + b'{"event": "A", "userId": "u"}').messages(NOW)
    assert (one.key, json.loads(one.value)["event"]) == (b"u", "A")
    assert len(read_request("batch", mark + json.dumps(BATCH).encode()).messages(NOW)) == 2
    assert read_write_key(mark + b'{"writeKey": "k"}') == "k"


@pytest.mark.parametrize(
    ("path", "type_"), [("track", "track"), ("t", "track"), ("p", "page"), ("a", "alias")]
)
def test_request_path_sets_message_type_and_write_key_is_dropped(path: str, type_: str) -> None:
    (message,) = messages_of(path, {"userId": "u", "writeKey": "secret"})
    assert message["type"] == type_
    assert "writeKey" not in message


def test_timestamp_fills_missing_original_timestamp() -> None:
    (message,) = messages_of("track", {"userId": "u", "timestamp": "2026-11-02T09:00:00Z"})
    assert message["originalTimestamp"] == "2026-11-02T09:00:00Z"
    both = {"userId": "u", "timestamp": "2026-11-02T09:00:00Z", "originalTimestamp": "2026-11-02T08:00:00Z"}
    assert messages_of("track", both)[0]["originalTimestamp"] == "2026-11-02T08:00:00Z"


def test_generated_message_id_is_stable_across_retries() -> None:
    again = BATCH | {"sentAt": "2026-11-02T10:05:00Z"}
    first, second = (messages_of("batch", body) for body in (BATCH, again))
    assert [each["messageId"] for each in first] == [each["messageId"] for each in second]
    assert len({each["messageId"] for each in first}) == 2


def test_generated_message_id_depends_on_the_context_of_the_batch() -> None:
    def ids(**batch: object) -> list[str]:
        body = {"batch": [{"type": "page", "userId": "u1"}], **batch}
        return [str(message["messageId"]) for message in messages_of("batch", body)]

    pages = [{"page": {"url": f"https://shop.example/{name}"}} for name in "ab"]
    found = [ids(context=page, sentAt=sent) for page in pages for sent in ("2026-05-01", "2026-05-02")]
    assert found[0] == found[1] != found[2] == found[3]
    assert ids() not in found


def test_generated_message_id_depends_on_the_type_of_the_path() -> None:
    body = {"userId": "u", "anonymousId": "a"}

    def uid(kind: str, **more: str) -> object:
        return messages_of(kind, body | more)[0]["messageId"]

    assert len({uid(kind) for kind in ("track", "page", "screen", "identify", "group", "alias")}) == 6
    assert uid("i") == uid("identify", sentAt="2026-11-02T10:05:00Z")
    assert uid("identify", type="page") == uid("page", type="page")
    assert uid("track") == "6b78789358255b1024615ea0d0dc18b4"  # as of earlier releases


def test_equal_messages_without_id_in_one_batch_get_distinct_ids() -> None:
    twice = BATCH | {"batch": [BATCH["batch"][0]] * 2}  # type: ignore[index]
    first, second = messages_of("batch", twice)
    assert first["messageId"] != second["messageId"]


def test_message_id_and_number_text_are_preserved() -> None:
    body = b'{"messageId": "m", "userId": "u", "properties": {"total": 1.10, "big": 12345678901234567890123}}'
    (message,) = read_request("track", body).messages(NOW)
    assert b"1.10" in message.value
    assert b"12345678901234567890123" in message.value
    assert json.loads(message.value)["messageId"] == "m"
    assert message.key == b"u"


def test_different_salts_generate_different_message_ids() -> None:
    request = read_request("batch", json.dumps(BATCH).encode())
    ids = {json.loads(each.value)["messageId"] for salt in "ab" for each in request.messages(NOW, salt)}
    assert len(ids) == 4


def test_pixel_decodes_base64_message() -> None:
    body = {"anonymousId": "a", "event": "Opened"}
    for data in (base64.b64encode, base64.urlsafe_b64encode):
        text = data(json.dumps(body).encode()).decode().rstrip("=")
        (message,) = read_request("track", read_pixel(text)).messages(NOW)
        assert json.loads(message.value)["event"] == "Opened"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("track", b""),
        ("track", b"[]"),
        ("track", b"{broken"),
        ("track", b"\xff\xfe"),
        ("batch", b"{}"),
        ("batch", b'{"batch": {}}'),
        ("batch", b'{"batch": [1]}'),
        ("batch", b'{"batch": []}'),
        ("track", b"{" * 100_000),
        ("track", b'{"a":' * 100_000),
        ("track", b'{"a": "' + rb"\n" * 100_000 + rb'\ud83d"}'),
    ],
)
def test_malformed_request_is_rejected(kind: str, body: bytes) -> None:
    with pytest.raises(BadRequestError):
        read_request(kind, body).messages(NOW)


@pytest.mark.parametrize("half", [r"\ud83d", r"\uDE00", r"\ud83d and more text", r"\ud83d\ud83d"])
def test_half_of_a_surrogate_pair_is_read_as_question_mark(half: str) -> None:
    mark, whole = re.sub(r"\\u....", "?", half), r"\ud83d\ude00"
    event = f'{{"userId": "u{half}", "event": "{whole}", "properties": {{"{half}": 1.10}}}}'
    (one,) = read_request("track", event.encode()).messages(NOW)
    batch = f'{{"batch": [{event}, {{"userId": "v", "event": "B"}}], "writeKey": "k"}}'.encode()
    first, second = read_request("batch", batch).messages(NOW)
    for message in (one, first):
        assert message.key == f"u{mark}".encode()
        assert f'{{"{mark}": 1.10}}'.encode() in message.value
        assert json.loads(message.value)["event"] == "\U0001f600"
    assert json.loads(second.value)["event"] == "B"
    assert read_write_key(batch) == "k"


def test_numeric_ids_are_kept_as_they_are() -> None:
    (message,) = read_request("track", b'{"messageId": 17, "anonymousId": -2.50}').messages(NOW)
    assert json.loads(message.value)["messageId"] == 17
    assert message.key == b"-2.50"


def test_id_that_begins_like_those_of_a_webhook_is_rejected() -> None:
    body = {"batch": [{"userId": "u", "messageId": each} for each in ("tickets", "ticket:1", "a:tickets:1")]}
    request = read_request("batch", json.dumps(body).encode())
    assert len(request.messages(NOW, reserved=("tickets:",))) == 3
    taken = read_request("track", b'{"messageId": "tickets:1002", "userId": "u"}')
    with pytest.raises(BadRequestError, match="tickets:1002"):
        taken.messages(NOW, reserved=("tickets:", "other:"))


def test_write_key_is_found_without_decoding_messages() -> None:
    assert read_write_key(b'{"batch": [{"a": {"b": 1}}], "writeKey": "k"}') == "k"
    assert read_write_key(b'{"writeKey": ""}') is None
    for body in (b"", b"[]", b'{"writeKey": 7}', b'{"batch": [}', b"\xff"):
        assert read_write_key(body) is None


def test_size_counts_the_context_of_a_batch_for_each_message() -> None:
    context = {"x": "y" * 1000}
    request = read_request(
        "batch", json.dumps({"batch": [{"event": "Opened"}] * 5000, "context": context}).encode()
    )
    made = sum(len(message.value) for message in request.messages(NOW))
    assert 5_000_000 < request.size < made < request.size + 5000 * 150


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"batch": [' + b"{}," * 1_000_000 + b"{}]}", "too many objects"),
        (b'{"batch": [' + b'{"a":"bcdefghi"},' * 10_000 + b"{}]}", "more than 10,000 messages"),
        (b'{"batch": [{"a": "' + b"b" * 1_000_000 + b'"}]}', "an event is larger"),
        (b'{"batch": [{}], "context": {"a": "' + b"b" * 1_000_000 + b'"}}', "an event is larger"),
    ],
)
def test_body_beyond_a_limit_is_refused_before_its_messages_are_decoded(body: bytes, problem: str) -> None:
    tracemalloc.start()
    with pytest.raises(TooLargeError, match=problem):
        read_request("batch", body).messages(NOW)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    "body",
    [
        {"userId": "u", "timestamp": "t" * 980_000},  # twice in the record
        {"userId": "u" * 980_000},  # also its key
        {"anonymousId": "a" * 980_000},
    ],
)
def test_record_above_the_limit_is_refused(body: dict[str, str]) -> None:
    for kind, sent in (("track", body), ("batch", {"batch": [{"userId": "u"}, body]})):
        with pytest.raises(TooLargeError, match="an event is larger than 1,000,000 bytes"):
            messages_of(kind, sent)


@given(kind=st.sampled_from(sorted(KINDS)), body=st.binary(max_size=300))
def test_arbitrary_bytes_are_parsed_or_rejected(kind: str, body: bytes) -> None:
    try:
        found = read_request(kind, body).messages(NOW)
    except BadRequestError:
        return
    assert all(json.loads(message.value)["receivedAt"] for message in found)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=9,
)


@given(batch=st.lists(st.dictionaries(st.text(max_size=12), _VALUES, max_size=5), min_size=1, max_size=4))
def test_batch_messages_keep_their_fields_unchanged(batch: list[dict[str, object]]) -> None:
    found = messages_of("batch", {"batch": batch})
    assert len(found) == len(batch)
    added = {"receivedAt", "messageId", "originalTimestamp", "writeKey"}
    for message, sent in zip(found, batch, strict=True):
        kept = {name: value for name, value in sent.items() if name not in added}
        assert {name: message[name] for name in kept} == kept
