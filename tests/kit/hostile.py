"""Kafka records of an attacker or a broken client: nearly valid, invalid, or no JSON."""

import json
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from kit.drawing import draw_examples
from kit.odd_values import MONEY, NAMES, PRODUCTS, TEXTS, TIMES, URLS, VALUES, Pairs, Raw
from kit.records import NOON, SENT, Record, instant


@st.composite
def _part(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[Any]], spoilt: int = 20) -> Pairs:
    """An object where 5 in `spoilt` fields are missing, wrong or duplicated."""
    pairs = []
    for name, right in fields.items():
        fate = draw(st.integers(0, spoilt - 1))
        if fate < 2:
            continue
        if fate in (2, 3):
            pairs.append((name, draw(VALUES)))
        if fate != 2:
            pairs.append((name, draw(right)))
        if fate == 4:
            pairs.append((name, draw(VALUES)))
    if draw(st.integers(0, 4)) == 0:
        pairs.append((draw(TEXTS), draw(VALUES)))
    if draw(st.booleans()):
        pairs.reverse()
    return Pairs(tuple(pairs))


_PAGE = _part({"url": URLS, "referrer": st.one_of(URLS, st.just("https://www.google.com/")), "title": TEXTS})
_CAMPAIGN = _part(
    {
        "source": st.sampled_from(["google", " Facebook\t", "newsletter", "x.example", "", " \t"]),
        "medium": st.sampled_from(["cpc", "CPM ", "email", "\tsocial", "other"]),
        "name": TEXTS,
        "term": TEXTS,
        "content": TEXTS,
        "id": TEXTS,
    }
)
_CONTEXT = st.one_of(
    _part({"page": _PAGE}),
    _part({"page": _PAGE, "campaign": _CAMPAIGN, "userAgent": st.just("Mozilla/5.0 (X11)")}),
)
_PROPERTIES = _part(
    {
        "order_id": TEXTS,
        "refund_id": TEXTS,
        "total": MONEY,
        "revenue": MONEY,
        "currency": st.sampled_from(["EUR", "usd"]),
        "promotion_id": TEXTS,
        "query": TEXTS,
        "search_id": TEXTS,
        "products": PRODUCTS,
        "product_id": VALUES,
        "url": URLS,
        "referrer": URLS,
    }
)
_UIDS = st.one_of(TEXTS, st.uuids().map(str), st.sampled_from(["x" * 256, "x" * 257, "\U0001f600" * 256]))
_FIELDS = {
    "messageId": _UIDS,
    "type": st.sampled_from(["track", "track", "page", "screen", "identify", "group", "alias", "Page"]),
    "event": NAMES,
    "anonymousId": st.one_of(st.sampled_from(["v", "w", ""]), TEXTS),
    "userId": TEXTS,
    "originalTimestamp": TIMES,
    "sentAt": TIMES,
    "receivedAt": TIMES,
    "timestamp": TIMES,
    "context": _CONTEXT,
    "properties": st.one_of(_PROPERTIES, _part({"total": MONEY, "order_id": TEXTS})),
}
MESSAGES = _part(_FIELDS, spoilt=60)
_EVENTS = _part(
    {
        **_FIELDS,
        "messageId": st.uuids().map(str),
        "type": st.just("track"),
        "anonymousId": st.sampled_from(["v", "w"]),
        "receivedAt": st.just(instant(SENT)),
        "sentAt": st.just("2016-12-31T23:59:60Z"),
        "properties": _PROPERTIES,
    },
    spoilt=500,
)


@st.composite
def _written(draw: st.DrawFn, what: st.SearchStrategy[Any]) -> bytes:
    """JSON text, with or without escapes, with random valid white space."""
    space, escape = draw(st.sampled_from(["", "", " ", "\r\n\t"])), draw(st.booleans())

    def write(value: Any) -> str:
        if isinstance(value, Raw):
            return str(value)
        if isinstance(value, Pairs):
            inside = [f"{key(name)}{space}:{space}{write(item)}" for name, item in value.pairs]
            return "{" + space + f"{space},{space}".join(inside) + space + "}"
        if isinstance(value, list):
            return "[" + f"{space},".join(map(write, value)) + space + "]"
        return json.dumps(value, ensure_ascii=escape)

    def key(name: str) -> str:
        return (
            f'"\\u{ord(name[0]):04x}{name[1:]}"'
            if escape and name.isalpha() and name.isascii()
            else write(name)
        )

    return write(draw(what)).encode("utf-8", "surrogatepass")


@st.composite
def _spoilt(draw: st.DrawFn) -> bytes:
    """A message with some bytes removed, changed, added or repeated."""
    value = draw(_written(MESSAGES))
    at = draw(st.integers(0, len(value)))
    junk = draw(
        st.sampled_from(
            [b"", b"{", b"}", b",", b'"', b"\\", b"\0", b"\xff", b"\xed\xa0\x80", b" ", b"0", b"1"]
        )
    )
    gone = draw(st.sampled_from([0, 0, 1, 2, 10**6]))
    return draw(
        st.sampled_from([value[:at] + junk + value[at + gone :], value + junk, value * 2, junk + value])
    )


_HEADERS = st.sampled_from(
    [
        (),
        ((("heartbeat"), b"2026-03-01T12:00:00Z"),),
        (("heartbeat", b"\xff"),),
        (("x", b"1"), ("heartbeat", b"soon")),
        (("source", b"shop@1"), ("promise", b"2026-03-01T12:00:00Z"), ("heartbeat", b"2026-03-01T12:00:00Z")),
        (("promise", b"end"), ("source", "caf\u00e9".encode()), ("source", b"")),
        (("source", b"\xff"), ("promise", b"end"), ("heartbeat", b"2026-03-01T12:00:00Z")),
        (("source", b"@1"), ("promise", b"end")),
        (("source", b"shop"), ("promise", b"soon")),
    ]
)
_VALUES = st.one_of(
    _written(MESSAGES),
    _written(MESSAGES),
    _written(_EVENTS),
    _written(_EVENTS),
    _written(_EVENTS),
    _spoilt(),
    _written(VALUES),
    st.binary(max_size=12),
    st.none(),
)
RECORDS = st.builds(
    Record,
    _VALUES,
    headers=_HEADERS,
    timestamp=st.sampled_from([SENT, NOON, SENT + timedelta(microseconds=1)]),
)


def make_up(records: int, number: int = 0) -> list[Record]:
    """Draw records in groups of 50. See `draw_examples` for `number`."""
    sittings = range(records // 50)
    return [made for sitting in sittings for made in draw_examples(RECORDS, 50, 1000 * number + sitting)]
