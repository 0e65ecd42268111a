"""Values for hostile records: usual and unusual texts, numbers, times, URLs and amounts."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from kit.records import NOON, SENT, instant


class Raw(str):
    """A JSON number, written as is."""

    __slots__ = ()


@dataclass(frozen=True)
class Pairs:
    """A JSON object that may have duplicate keys."""

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
TEXTS = st.one_of(_ODD_TEXTS, st.text(max_size=8))
NUMBERS = st.one_of(
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
_LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Pairs]:
    keys = st.one_of(st.sampled_from(["a", "b", "url", "context", "messageId", "page"]), TEXTS)
    return st.lists(st.tuples(keys, values), max_size=3).map(lambda pairs: Pairs(tuple(pairs)))


VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | _objects(inner), max_leaves=5)

TIMES = st.one_of(
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
                "2026-03-01 12:00:00 UTC",
                "2026-03-01T12:00+0100",
                "2026-03-01T12:00:00,25:Z",
                "1772366400.5",
                "1772366400000",
                "1772366400000000",
                "Sunday, the first of March 2026, at noon, as the sundial in the garden shows it",
                " ",
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
        *(
            "https://x.com/i/grok",
            "https://x.com/i/",
            "https://mail.google.co.uk:443/a",
            "android-app://com.x/",
        ),
        *(
            "https://docs.google.com",
            "https://paypal.com/",
            "https://a@b@ads.example.com/",
            "https://gmx.de?",
        ),
        *(
            "https://checkout.shop.example/",
            "https://www.google.com./",
            "https://sh\u00f6p.example/",
            "https://XN--SHP-TNA.example/",
            "https://SH%C3%96P.example:8443",
            "http://[2001:db8::1]:80/",
            "http://[2001:DB8:0::1]/",
            "http://192.0.2.1/",
            "http://192.0.3.1/",
            "https://a.github.io/",
            "https://b.github.io/",
            "https://a..b./",
            "about:blank",
        ),
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
                "utm_source=%ff+a",
                "&amp;",
                "UTM_Source=News",
                "utm%5fmedium=E-Mail",
                "/p?utm_medium=+mail%C2%A0",
                "GCLID=2",
                "utm_medium=%zz",
                "gclid=1",
                "gclid=",
                "ttclid=x",
                "xutm_source=a",
                "utm_source",
            ),
            *("utm_term=a+b", "utm_content=%20", "utm_id=7", "fbclid=%2B", "wbraid=2"),
        ]
    ),
    max_size=6,
).map("".join)
URLS = st.builds(str.__add__, _SITES, _QUERY)
NAMES = st.sampled_from(
    [
        *("Promotion Viewed", "Promotion Clicked", "Products Searched", "Product Clicked", "Order Completed"),
        *("Order Refunded", "Order Cancelled", "Signed Up", "order completed", "Order Completed "),
        "Product List Viewed",
    ]
)
_PRODUCT = st.one_of(TEXTS, NUMBERS).map(lambda product: Pairs((("product_id", product),)))
_TWICE = st.tuples(TEXTS, VALUES).map(lambda two: Pairs(tuple(("product_id", each) for each in two)))
PRODUCTS = st.one_of(
    st.lists(_PRODUCT, max_size=4), st.lists(st.one_of(_PRODUCT, _TWICE, VALUES), max_size=4), VALUES
)
MONEY = st.one_of(
    NUMBERS,
    st.sampled_from(
        ["9.5", " 9.50 ", "0.00005", "-0.00005", "1,000", "NaN", "1e400", "1e-400", "0x10", "9" * 2000]
    ),
    st.sampled_from(
        [
            *("2,000.00", "1.999,00", "1 999,00", "1,234,567", "6,795", "12,50", "1'999.50", "1,00,000.50"),
            *("$39.95", "-$5", "$-5", "12,50 €", "EUR 7", "7 eur", "$1,999.00 USD", "7 kr.", "7 pieces", "$"),
            *(
                "1.234.56",
                "1,23",
                "0,795",
                "\u2212" + "5",
                "1\u202f999,00",
                "(5)",
                "12.50-",
                "",
                " ",
                ".50 €",
            ),
        ]
    ),
    st.sampled_from(
        ["99999999999999.99994", "99999999999999.99995", "\u0665", "+1", ".5", "5.", "1_0", "-", "1e"]
    ),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda amount: f"{amount:f}"[:100]),
)
