"""Test oracle for parsing: from bytes to the fields of an event, with times in microseconds.

Shares no code with `src/`.
"""

import json
import re
from typing import Any

from kit.oracle_agents import dimensions_of
from kit.oracle_channels import channel_of, click_id_of, is_internal, parameter_of
from kit.oracle_money import read_money
from kit.oracle_times import DAY, MINUTE, SECOND, micros, parse_time, record_time, times_of
from kit.records import Stored

__all__ = ["DAY", "MINUTE", "SECOND", "Fields", "micros", "parse_time"]  # from here, for the other oracles

Fields = dict[str, Any]
TYPES = ("page", "screen", "track", "identify", "group", "alias")
_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_PLACEHOLDERS = {
    *("null", "undefined", "none", "nil", "nan", "n/a", "[object object]", "true", "false", "0", "-1"),
    *("anonymous", "unknown", "anonymousid", "userid", "00000000-0000-0000-0000-000000000000"),
}
_UNPAIRED = re.compile("[\ud800-\udfff]")
_UTM = {field: field for field in ("source", "medium", "term", "content", "id")} | {"name": "campaign"}


class Number(str):
    """A JSON number, as written."""

    __slots__ = ()


def parse_object(value: bytes) -> Fields | None:
    """The value, without a byte order mark, as a JSON object; None if it is not one."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        found = json.loads(
            value.decode("utf-8-sig"), parse_int=Number, parse_float=Number, parse_constant=refuse
        )
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def text(value: object) -> str | None:
    """A value as text: strings as they are, others as JSON text; None for null.

    Unpaired surrogates become question marks.
    """
    if type(value) is str:
        return _UNPAIRED.sub("?", value)
    if isinstance(value, Number):
        return _integer(value) or str(value)
    return None if value is None else _json(value)


def _integer(number: str) -> str | None:
    """The digits of a number with an integer value below 2**53, or of a plain integer; else None."""
    found = _NUMBER.fullmatch(number)
    assert found
    sign, whole, fraction, exponent = found.groups()
    if fraction is None and exponent is None:
        return whole if whole == "0" else f"{sign}{whole}"
    digits, power = (whole + (fraction or "")).lstrip("0"), int(exponent or 0) - len(fraction or "")
    zeros = len(digits) - len(digits.rstrip("0"))
    if not digits or power < -zeros or power > 16:
        return None if digits or abs(int(exponent or 0)) > 10**18 else "0"
    exact = int(digits + "0" * power) if power >= 0 else int(digits[:power] or 0)
    return f"{sign}{exact}" if exact < 2**53 else None


def identity(value: object) -> str | None:
    """An id without the white space around it; None for a placeholder."""
    found = (text(value) or "").strip()
    return found if found and found.lower() not in _PLACEHOLDERS else None


def _json(value: object) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(key)}:{_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_json(item) for item in value) + "]"
    unpaired = isinstance(value, str) and _UNPAIRED.search(value)
    return json.dumps(value, ensure_ascii=bool(unpaired))


def some(value: object) -> str | None:
    """Non-empty text, else None."""
    return text(value) or None


def written(value: str | None) -> str | None:
    """Text without white space around it; None if nothing is left."""
    return (value or "").strip() or None


def read_fields(body: Fields) -> Fields:
    """The fields of silver.events from a message, without times."""

    def part(of: Fields, name: str) -> Fields:
        found = of.get(name)
        return found if isinstance(found, dict) else {}

    context, properties = part(body, "context"), part(body, "properties")
    page, campaign = part(context, "page"), part(context, "campaign")
    url = some(page.get("url")) or some(properties.get("url"))
    referrer = some(page.get("referrer")) or some(properties.get("referrer"))
    sent = {
        name: written(text(campaign.get(name))) or written(parameter_of(url, f"utm_{parameter}"))
        for name, parameter in _UTM.items()
    }
    click_id, click_id_kind = click_id_of(url)
    kind = text(body.get("type"))
    name = text(body.get("event")) if kind == "track" else None
    return {
        "event_id": text(body.get("messageId")),
        "type": kind,
        "name": name,
        "visitor_id": identity(body.get("anonymousId")) or identity(body.get("userId")),
        "user_id": identity(body.get("userId")),
        "url": url,
        "referrer": referrer,
        "user_agent": some(context.get("userAgent")),
        "library": some(part(context, "library").get("name")),
        **{f"campaign_{field}": value for field, value in sent.items()},
        "has_context_campaign": any(
            written(text(campaign.get(name))) for name in ("source", "medium", "name", "id")
        ),
        "is_server_event": not identity(body.get("anonymousId")) and url is None and kind != "screen",
        "has_internal_referrer": is_internal(url, referrer),
        "properties": _whole(body.get("properties")),
        "custom_dimensions": dimensions_of(some(context.get("userAgent"))),
        "click_id": click_id,
        "click_id_kind": click_id_kind,
        "channel": channel_of(sent, url, referrer),
        **_read_role(kind, name, properties),
    }


_FILE = (
    r"\.(avif|bmp|css|eot|gif|ico|jpe?g|m?js|json|map|mp[34]|otf|png|svg|ttf|txt|wasm|webm|webmanifest"
    r"|webp|woff2?|xml)$"
)


def _whole(properties: object) -> str | None:
    if properties is None:
        return None
    return _json(properties if isinstance(properties, dict) else {})


def _read_role(kind: str | None, name: str | None, properties: Fields) -> Fields:
    fields: Fields = dict.fromkeys(
        (
            *("promotion_id", "query", "search_id", "product_id", "shown_products"),
            *("goal", "order_id", "refund_id", "value", "unread_value", "currency"),
        )
    )
    role = {"page": "page_view", "screen": "page_view", "identify": "identify"}.get(kind or "", "other")
    if kind == "page" and {"method", "status"} <= properties.keys():
        path = some(properties.get("path")) or ""
        role = "other" if re.search(_FILE, path, re.IGNORECASE) else role
    if name in ("Promotion Viewed", "Promotion Clicked") and some(properties.get("promotion_id")):
        role = "impression" if name == "Promotion Viewed" else "click"
        fields["promotion_id"] = some(properties["promotion_id"])
    words = {key: some(properties.get(key)) for key in ("query", "search_id")}
    if name == "Products Searched" or (name == "Product List Viewed" and any(words.values())):
        role = "search" if name == "Products Searched" else "results"
        fields |= {**words, "shown_products": _products(properties.get("products"))}
    if name == "Product Clicked":
        role, fields["product_id"] = "result_click", some(properties.get("product_id"))
    if name in ("Order Completed", "Order Refunded", "Order Cancelled", "Signed Up"):
        role, fields["goal"] = "goal", name
    if name == "Order Cancelled":
        fields["order_id"] = some(properties.get("order_id"))
    if name == "Order Refunded":
        fields["refund_id"] = some(properties.get("refund_id"))
    if name in ("Order Completed", "Order Refunded"):
        fields["order_id"] = some(properties.get("order_id"))
        fields["currency"] = some(properties.get("currency"))
        value, fields["unread_value"] = read_money(
            [text(properties.get(name)) for name in ("total", "revenue")]
        )
        fields["value"] = -value if value is not None and name == "Order Refunded" else value
    return {"role": role, **fields}


def _products(products: object) -> list[str | None] | None:
    """The product id of each entry, None for entries without one; None for an empty or invalid list."""
    if not isinstance(products, list):
        return None
    return [some(each.get("product_id")) if isinstance(each, dict) else None for each in products] or None


def read_times(body: Fields, stored: Stored) -> Fields:
    """The columns with times."""
    sent = {name: text(body.get(name)) for name in ("originalTimestamp", "sentAt", "timestamp", "receivedAt")}
    return times_of(sent, record_time(stored.record.timestamp, stored.ingested_at))
