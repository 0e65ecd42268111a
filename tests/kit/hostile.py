"""Kafka records as an enemy or a broken client writes them: nearly valid, wrong throughout, or no JSON."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from kit.drawing import draw_examples
from kit.records import NOON, SENT, Record, instant


class Raw(str):
    """JSON as it stands: a number."""

    __slots__ = ()


@dataclass(frozen=True)
class Pairs:
    """An object; a key may be there twice."""

    pairs: tuple[tuple[str, Any], ...]


_ODD_TEXTS = st.sampled_from(
    [
        *(
            "",
            " ",
            "\u00a0",
            "null",
            "{}",
            '{"a":1}',
            "[",
            '"',
            "\\",
            "\0",
            "\x7f\x85",
            "\u2028",
            "\ufeff",
            "a\tb",
        ),
        *(
            "\ud800",
            "a\udc00b",
            "\U0001f600",
            "e\u0301",
            "İ",
            "x" * 257,
            "\U0001f600" * 256,
            "#d41d8cd98f",
            "$1",
        ),
        *("1.10", "x: 1.10, y", '"a": 2.50}', "%zz%41", "\\ud800", "\\u0041"),
    ]
)
_TEXTS = st.one_of(_ODD_TEXTS, st.text(max_size=8))
_NUMBERS = st.one_of(
    st.sampled_from(
        [
            *(
                "0",
                "-0",
                "-0.0",
                "1.10",
                "7.50",
                "9.99",
                "100",
                "0.0001",
                "12345678.5",
                "1e999",
                "-1E-999",
                "1e5",
            ),
            *("12345678901234567890", "99999999999999.9999", "0.10000000000000000555", "1" * 1200, "2.5E+0"),
        ]
    ).map(Raw),
    st.integers().map(lambda number: Raw(str(number))),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: Raw(repr(number))),
)
_LEAVES = st.one_of(st.none(), st.booleans(), _NUMBERS, _TEXTS)


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Pairs]:
    keys = st.one_of(st.sampled_from(["a", "b", "url", "context", "messageId", "page"]), _TEXTS)
    return st.lists(st.tuples(keys, values), max_size=3).map(lambda pairs: Pairs(tuple(pairs)))


VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | _objects(inner), max_leaves=5)

_TIMES = st.one_of(
    st.integers(-(10**13), 10**13).map(lambda tick: instant(NOON + timedelta(microseconds=tick))),
    st.sampled_from([instant(SENT), instant(SENT + timedelta(minutes=5)), instant(SENT + timedelta(days=1))]),
    st.sampled_from(
        [
            *("0000-00-00", "0000-00-00T00:00:00Z", "+275760-09-13T00:00:00.000Z", "275760-09-13T00:00:00Z"),
            *(
                "1970-01-01T00:00:00Z",
                "1969-12-31T23:59:59.9Z",
                "9999-12-31T23:59:59.999999Z",
                "10000-01-01T00:00:00Z",
            ),
            *(
                "2016-12-31T23:59:60Z",
                "2026-02-29T00:00:00Z",
                "2026-03-01T24:00:00Z",
                "2026-03-01T12:00:00+18:30",
            ),
            *(
                "2026-03-01T12:00:00-23:59",
                "2026-03-01T12:00:00+14:00",
                "2026-03-01t12:00:00.5z",
                "2026-03-01",
            ),
            *(
                "2026-03-01 12:00:00Z",
                "2026-03-01T12:00:00",
                "1772366400",
                "Sun, 01 Mar 2026 12:00:00 GMT",
                "now",
            ),
            *("2026-03-01T12:00:00.0000009999Z", "2026-03-01T12:00:00[Europe/Paris]", "1582-10-10T00:00:00Z"),
        ]
    ),
)
_SITES = st.sampled_from(
    [
        "https://shop.example/",
        "HTTP://WWW.Shop.Example:80/a",
        "https://u:p@shop.example/",
        "/a",
        "shop.example",
        "a://b",
    ]
)
_QUERY = st.lists(
    st.sampled_from(
        [
            *(
                "?",
                "&",
                "#",
                "/",
                "a=b",
                "utm_source=google",
                "utm_medium=cpc",
                "utm_campaign=a%20b+c",
                "utm_source=",
            ),
            *(
                "utm_source=%ff",
                "utm_medium=%zz",
                "gclid=1",
                "gclid=",
                "ttclid=x",
                "xutm_source=a",
                "utm_source",
            ),
        ]
    ),
    max_size=6,
).map("".join)
_URLS = st.builds(str.__add__, _SITES, _QUERY)
_NAMES = st.sampled_from(
    [
        *("Promotion Viewed", "Promotion Clicked", "Products Searched", "Product Clicked", "Order Completed"),
        *("Order Refunded", "Signed Up", "order completed", "Order Completed "),
    ]
)
_MONEY = st.one_of(
    _NUMBERS,
    st.sampled_from(
        ["9.5", " 9.50 ", "0.00005", "-0.00005", "1,000", "NaN", "1e400", "1e-400", "0x10", "9" * 2000]
    ),
    st.sampled_from(
        ["99999999999999.99994", "99999999999999.99995", "\u0665", "+1", ".5", "5.", "1_0", "-", "1e"]
    ),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda amount: f"{amount:f}"[:100]),
)


@st.composite
def _part(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[Any]], spoilt: int = 20) -> Pairs:
    """An object whose fields are right but for 5 in `spoilt`: missing, wrong or there twice."""
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
        pairs.append((draw(_TEXTS), draw(VALUES)))
    if draw(st.booleans()):
        pairs.reverse()
    return Pairs(tuple(pairs))


_PAGE = _part(
    {"url": _URLS, "referrer": st.one_of(_URLS, st.just("https://www.google.com/")), "title": _TEXTS}
)
_CAMPAIGN = _part(
    {
        "source": st.sampled_from(["google", " Facebook\t", "newsletter", "x.example", ""]),
        "medium": st.sampled_from(["cpc", "CPM ", "email", "\tsocial", "other"]),
        "name": _TEXTS,
    }
)
_CONTEXT = st.one_of(
    _part({"page": _PAGE}),
    _part({"page": _PAGE, "campaign": _CAMPAIGN, "userAgent": st.just("Mozilla/5.0 (X11)")}),
)
_PROPERTIES = _part(
    {
        "order_id": _TEXTS,
        "total": _MONEY,
        "revenue": _MONEY,
        "currency": st.sampled_from(["EUR", "usd"]),
        "promotion_id": _TEXTS,
        "query": _TEXTS,
        "product_id": VALUES,
        "url": _URLS,
        "referrer": _URLS,
    }
)
_UIDS = st.one_of(_TEXTS, st.uuids().map(str), st.sampled_from(["x" * 256, "x" * 257, "\U0001f600" * 256]))
_FIELDS = {
    "messageId": _UIDS,
    "type": st.sampled_from(["track", "track", "page", "screen", "identify", "group", "alias", "Page"]),
    "event": _NAMES,
    "anonymousId": st.one_of(st.sampled_from(["v", "w", ""]), _TEXTS),
    "userId": _TEXTS,
    "originalTimestamp": _TIMES,
    "sentAt": _TIMES,
    "receivedAt": _TIMES,
    "timestamp": _TIMES,
    "context": _CONTEXT,
    "properties": st.one_of(_PROPERTIES, _part({"total": _MONEY, "order_id": _TEXTS})),
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
    """JSON text with or without escapes, and with any white space that JSON allows."""
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
    """A message with a few bytes gone, changed, added or doubled."""
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
    """So many records of a series, in sittings of 50. See `draw_examples` for what the number does."""
    sittings = range(records // 50)
    return [made for sitting in sittings for made in draw_examples(RECORDS, 50, 1000 * number + sitting)]
