"""Parsed fields of records whose JSON or URL is easy to misread."""

from typing import Any

import pytest

from kit.parser import parse
from kit.records import Record, message, record

SHOP = "https://shop.example/"


def text(uid: str, more: str) -> Record:
    """A page view with further fields, as JSON text."""
    return record(f'{{"messageId": "{uid}", "type": "page", "anonymousId": "v", {more}}}')


def numbered(uid: str) -> Record:
    """A page view whose UID is a number."""
    return record(f'{{"messageId": {uid}, "type": "page", "anonymousId": "v"}}')


def order(properties: str) -> Record:
    return record(
        '{"messageId": "o", "type": "track", "event": "Order Completed", "anonymousId": "v", '
        f'"properties": {properties}}}'
    )


def page(url: str, referrer: str | None = None) -> Record:
    return record(message("p", "v", context={"page": {"url": url, "referrer": referrer}}))


def products(sent: str, kind: str = "Products Searched", more: str = "") -> Record:
    """A search or a list of results, with its products as JSON text."""
    return record(
        f'{{"messageId": "s", "type": "track", "event": "{kind}", "anonymousId": "v", '
        f'"properties": {{{more}"products": {sent}}}}}'
    )


LISTED = "Product List Viewed"
PRODUCTS: dict[str, tuple[str, list[str | None] | None]] = {
    "products keep their order and repetitions": (
        '[{"product_id": "b", "position": 7}, {"product_id": "a"}, {"product_id": "b"}]',
        ["b", "a", "b"],
    ),
    "a number is its JSON text": ('[{"product_id": 7.50}, {"product_id": 1001.0}]', ["7.50", "1001"]),
    "an object is its JSON text": ('[{"product_id": {"a": [1, 2]}}]', ['{"a":[1,2]}']),
    "an entry without a product id is null": (
        '[{}, {"product_id": null}, {"product_id": ""}, {"id": "x"}, {"product_id": "a"}]',
        [None, None, None, None, "a"],
    ),
    "an entry that is not an object is null": (
        '["a", 5, null, [], [{"product_id": "x"}], {"product_id": "a"}]',
        [None, None, None, None, None, "a"],
    ),
    "the last of duplicate product_id keys counts": ('[{"product_id": "a", "product_id": "b"}]', ["b"]),
    "an empty list is null": ("[]", None),
    "an object is not a list": ('{"0": {"product_id": "a"}}', None),
    "text is not a list": ('"[{}]"', None),
    "null is not a list": ("null", None),
    "the last of duplicate products keys counts": ('[{"product_id": "a"}], "products": 5', None),
    "10,000 products": (f"[{','.join(['{}'] * 10_000)}]", [None] * 10_000),
}


@pytest.mark.parametrize("case", PRODUCTS)
@pytest.mark.parametrize("kind", ["Products Searched", LISTED])
def test_shown_products_are_parsed_in_order(case: str, kind: str) -> None:
    sent, wanted = PRODUCTS[case]
    assert parse([products(sent, kind, '"query": "boots", ')])[0]["shown_products"] == wanted


RESULTS = {
    "by query": ('"query": "boots", ', ("results", "boots", None)),
    "by a numeric search id": ('"search_id": 7, ', ("results", None, "7")),
    "by query and search id": ('"query": "boots", "search_id": "s", ', ("results", "boots", "s")),
    "by search id with an empty query": ('"query": "", "search_id": "s", ', ("results", None, "s")),
    "a category list without query and search id": ('"list_id": "hats", ', ("other", None, None)),
    "a null query and an empty search id": ('"query": null, "search_id": "", ', ("other", None, None)),
}


@pytest.mark.parametrize("case", RESULTS)
def test_product_list_is_results_only_with_query_or_search_id(case: str) -> None:
    sent, wanted = RESULTS[case]
    row = parse([products('[{"product_id": "a"}]', LISTED, sent)])[0]
    assert (row["role"], row["query"], row["search_id"]) == wanted
    assert row["shown_products"] == (None if wanted[0] == "other" else ["a"])


CASES: dict[str, tuple[Record, dict[str, Any]]] = {
    "a number keeps its trailing zero": (
        numbered("7.50"),
        {"event_id": "7.50"},
    ),
    "a number with an integer value is the integer": (numbered("1001.0"), {"event_id": "1001"}),
    "a number with an exponent and an integer value is the integer": (
        numbered("1.001e3"),
        {"event_id": "1001"},
    ),
    "a byte order mark before the value is skipped": (
        record('\ufeff {"messageId": "b", "type": "page", "anonymousId": "v"}'),
        {"reason": None, "event_id": "b"},
    ),
    "a byte order mark inside text is kept": (text("n", '"userId": "\ufeffu"'), {"user_id": "\ufeffu"}),
    "a byte order mark after the value is no JSON": (
        record('{"messageId": "b", "type": "page", "anonymousId": "v"}\ufeff'),
        {"reason": "not_json"},
    ),
    "an integer keeps all of its digits": (
        text("n", '"userId": 820982911946154508123'),
        {"user_id": "820982911946154508123"},
    ),
    "the largest integer that a double holds exactly": (
        text("n", '"userId": 9007199254740991.0'),
        {"user_id": "9007199254740991"},
    ),
    "a number whose digits may not be exact stays as it is": (
        text("n", '"userId": 9007199254740992.0'),
        {"user_id": "9007199254740992.0"},
    ),
    "a number beyond doubles stays as it is": (text("n", '"userId": 1e999'), {"user_id": "1e999"}),
    "a fraction below the precision of doubles is kept": (
        text("n", '"userId": 7.00000000000000000000001'),
        {"user_id": "7.00000000000000000000001"},
    ),
    "negative zero is zero": (numbered("-0"), {"event_id": "0"}),
    "negative zero with a fraction is zero": (numbered("-0.0"), {"event_id": "0"}),
    "a number in a list keeps its notation": (text("n", '"userId": [1.0, 1e2]'), {"user_id": "[1.0,1e2]"}),
    "twenty digits are kept": (
        text("n", '"userId": 1.2345678901234567890'),
        {"user_id": "1.2345678901234567890"},
    ),
    "numbers in properties are kept": (
        text("n", '"properties": {"a": 1.10, "b": [1e999, 12345678.5], "c": "1.10"}'),
        {"properties": '{"a":1.10,"b":[1e999,12345678.5],"c":"1.10"}'},
    ),
    "a number of 2,000 digits is kept": (
        text("n", f'"properties": {{"a": {"7" * 2000}}}'),
        {"properties": f'{{"a":{"7" * 2000}}}', "reason": None},
    ),
    "money sent as a number is exact": (
        order('{"total": 99999999999999.9999}'),
        {"value": "99999999999999.9999"},
    ),
    "a numeric order id is kept": (order('{"order_id": 12345678.50}'), {"order_id": "12345678.50"}),
    "numbers inside text are kept": (
        text("n", '"userId": 1.10, "properties": {"a": "x: 1.10, \\" 2.50 ]"}'),
        {"user_id": "1.10", "properties": '{"a":"x: 1.10, \\" 2.50 ]"}'},
    ),
    "a number with two decimal points is not JSON": (
        text("n", '"n": 1.2.3, "m": 1.0'),
        {"reason": "not_json"},
    ),
    "a number with a leading zero is not JSON": (text("n", '"n": 01.0, "m": 1.0'), {"reason": "not_json"}),
    "a numeric key is not JSON": (text("n", '"m": 1.0, 1.0: 2'), {"reason": "not_json"}),
    "the last context wins though it is not an object": (
        text("c", '"context": {"userAgent": "x", "page": {"url": "u"}}, "context": 5'),
        {"user_agent": None, "url": None},
    ),
    "the last page wins though it is not an object": (
        text("c", '"context": {"page": {"url": "u"}, "userAgent": "x", "page" : []}'),
        {"url": None, "user_agent": "x"},
    ),
    "the last campaign wins though its key is escaped": (
        text("c", '"context": {"campaign": {"source": "x"}, "\\u0063ampaign": "x"}'),
        {"campaign_source": None},
    ),
    "the last context wins, beside an unpaired surrogate": (
        text("c", '"context": 5, "context": {"page": {"url": "u"}}, "x": "\\ud800"'),
        {"url": "u"},
    ),
    "the last properties win though they are text": (
        text("c", '"properties": {"url": "u"}, "properties": "{}"'),
        {"properties": "{}", "url": None},
    ),
    "an unpaired surrogate becomes a question mark": (text("s", '"userId": "a\\udc00b"'), {"user_id": "a?b"}),
    "utm parameters after # are read": (
        page(f"{SHOP}#?utm_source=x&utm_medium=y"),
        {"campaign_source": "x", "campaign_medium": "y"},
    ),
    "utm parameters before ? are ignored": (page(f"{SHOP}&utm_source=x?a=b"), {"campaign_source": None}),
    "utm parameters after a second ? are ignored": (
        page(f"{SHOP}?a=b?utm_source=x"),
        {"campaign_source": None},
    ),
    "the first of duplicate utm parameters counts": (
        page(f"{SHOP}?utm_source=x&utm_source=y"),
        {"campaign_source": "x"},
    ),
    "an empty utm parameter hides no later duplicate": (
        page(f"{SHOP}?utm_source=&utm_source=y"),
        {"campaign_source": "y"},
    ),
    "a utm parameter ends at #": (page(f"{SHOP}?a=b&utm_source=x#y"), {"campaign_source": "x"}),
    "a click id after # is read": (page(f"{SHOP}#?gclid=x"), {"channel": "Paid Search"}),
    "white space around a campaign is ignored for the channel": (
        record(message("b", "v", context={"campaign": {"source": "\tgoogle ", "medium": "\ncpc"}})),
        {"channel": "Paid Search"},
    ),
    "a campaign of white space is no campaign": (
        record(message("b", "v", context={"campaign": {"name": " \t"}})),
        {"channel": "Direct", "campaign_name": None},
    ),
    "a blank campaign field falls back to the URL": (
        record(
            message(
                "b",
                "v",
                context={
                    "campaign": {"source": " ", "medium": "\n"},
                    "page": {"url": f"{SHOP}?utm_source=x&utm_medium=%20&utm_campaign=+%09"},
                },
            )
        ),
        {"campaign_source": "x", "campaign_medium": None, "campaign_name": None},
    ),
    "nesting 10,000 deep is not JSON": (
        text("d", f'"a": {"[" * 10_000}{"]" * 10_000}'),
        {"reason": "not_json"},
    ),
    "nesting 900 deep is parsed": (text("d", f'"a": {"[" * 900}{"]" * 900}'), {"reason": None}),
    "a megabyte of text is parsed": (
        text("m", f'"properties": {{"a": "{"x" * 2**20}"}}'),
        {"reason": None, "event_id": "m"},
    ),
    "a key of 50,001 characters is not JSON": (text("k", f'"{"k" * 50_001}": 1'), {"reason": "not_json"}),
    "escaped control characters are kept": (text("e", '"userId": "\\u0000\\u001fa"'), {"user_id": "\0\x1fa"}),
}


@pytest.mark.parametrize("case", CASES)
def test_hard_to_parse_record_has_expected_fields(case: str) -> None:
    sent, wanted = CASES[case]
    parsed = parse([sent])[0]
    found = {name: parsed[name] for name in wanted}
    if wanted.get("value"):
        found["value"] = f"{found['value']:f}"
    assert found == wanted


JSON_TEXTS = {
    "white space is removed": ('{ "a" : [ 1.10 ,\t2 ] , "b c": " x " }', '{"a":[1.10,2],"b c":" x "}'),
    "the last of two keys wins": ('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
    "the last of two nested keys wins": ('{"a":[{"b":1,"b":[2]}]}', '{"a":[{"b":[2]}]}'),
    "an escaped key equals the plain key": ('{"a":1,"\\u0061":2}', '{"a":2}'),
    "escapes are normalised": (r'{"a":"\u00e9\/\u000a\u0022"}', r'{"a":"é/\n\""}'),
    "an unpaired surrogate becomes a question mark": (
        r'{"a":"\ud800 \ud83d\ude00 \\ud800"}',
        '{"a":"? \U0001f600 \\\\ud800"}',
    ),
    "a text that begins with a colon": ('{"a":":","b":{"c":":"}}', '{"a":":","b":{"c":":"}}'),
    "a nested number beyond the range of floats": ('{"a":[{"b":1e999, "b":2e999}]}', '{"a":[{"b":2e999}]}'),
    "empty object, list and key": ('{"a":{}, "b":[], "":""}', '{"a":{},"b":[],"":""}'),
}


@pytest.mark.parametrize("case", JSON_TEXTS)
def test_nested_json_is_stored_as_compact_text(case: str) -> None:
    sent, wanted = JSON_TEXTS[case]
    assert parse([text("t", f'"properties": {sent}')])[0]["properties"] == wanted
    assert parse([text("t", f'"userId": {sent}')])[0]["user_id"] == wanted


@pytest.mark.parametrize(("depth", "reason"), [(990, None), (1_000, None), (1_001, "not_json")])
@pytest.mark.parametrize("duplicate_key", ["", '"a": 1, '])
def test_json_deeper_than_1000_levels_is_rejected(depth: int, reason: str | None, duplicate_key: str) -> None:
    nested = "[" * (depth - 2) + "]" * (depth - 2)
    assert parse([text("d", f'"properties": {{{duplicate_key}"a": {nested}}}')])[0]["reason"] == reason
