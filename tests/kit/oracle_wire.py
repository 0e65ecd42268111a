"""Test oracle for parsing: from bytes to the fields of an event, with times in microseconds.

Shares no code with `src/`.
"""

import json
import re
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from kit.oracle_channels import channel_of, click_id_of, parameter_of
from kit.records import Stored

Fields = dict[str, Any]
SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
TYPES = ("page", "screen", "track", "identify", "group", "alias")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))?", re.ASCII
)
_MONEY = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_UNPAIRED = re.compile("[\ud800-\udfff]")
_BLANKS = " \t\n\v\f\r"
_YEAR_1600 = -135_140 * DAY
_CENT = Decimal("0.0001")
_UTM = {field: field for field in ("source", "medium", "term", "content", "id")} | {"name": "campaign"}


class Number(str):
    """A JSON number, as written."""

    __slots__ = ()


def micros(at: datetime) -> int:
    """Microseconds since 1970."""
    passed = at.astimezone(timezone.utc) - _EPOCH
    return (passed.days * 86400 + passed.seconds) * SECOND + passed.microseconds


def parse_time(text: str | None) -> int | None:
    """An RFC 3339 time in microseconds since 1970; None if invalid or outside 1970 to 9999."""
    found = _TIME.fullmatch(text or "")
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    try:
        at = micros(datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc))
    except ValueError:
        return None
    at += int((found[7] or "").ljust(6, "0")[:6])
    if found[8]:
        if int(found[9]) > 23 or int(found[10]) > 59:
            return None
        offset = (int(found[9]) * 60 + int(found[10])) * MINUTE
        at += offset if found[8] == "-" else -offset
    return at if 0 <= at < 2_932_897 * DAY else None  # days from 1970-01-01 to 10000-01-01


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
    return None if value is None else _json(value)


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


def money(value: object) -> Decimal | None:
    """A number, rounded half up to four decimals; None if invalid or too large for 18 digits."""
    figures = (text(value) or "").strip(_BLANKS)
    if not _MONEY.fullmatch(figures):
        return None
    exact = Decimal(figures)
    if not exact or exact.adjusted() < -10:
        return Decimal("0.0000")
    if exact.adjusted() > 13:
        return None
    rounded = exact.quantize(_CENT, ROUND_HALF_UP)
    return rounded + 0 if abs(rounded) < 10**14 else None  # + 0: no negative zero


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
        "visitor_id": some(body.get("anonymousId")) or some(body.get("userId")),
        "user_id": some(body.get("userId")),
        "url": url,
        "referrer": referrer,
        "user_agent": some(context.get("userAgent")),
        **{f"campaign_{field}": value for field, value in sent.items()},
        "has_context_campaign": any(
            written(text(campaign.get(name))) for name in ("source", "medium", "name", "id")
        ),
        "properties": _whole(body.get("properties")),
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
            *("goal", "order_id", "refund_id", "value", "currency"),
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
        total, revenue = money(properties.get("total")), money(properties.get("revenue"))
        value = total if total is not None else revenue
        fields["value"] = -value if value is not None and name == "Order Refunded" else value
    return {"role": role, **fields}


def _products(products: object) -> list[str | None] | None:
    """The product id of each entry, None for entries without one; None for an empty or invalid list."""
    if not isinstance(products, list):
        return None
    return [some(each.get("product_id")) if isinstance(each, dict) else None for each in products] or None


def correct_clock(body: Fields, stored: Stored) -> tuple[int, int]:
    """Arrival time and event time."""
    kafka = micros(stored.record.timestamp)
    received, sent, original, given = (
        parse_time(text(body.get(name)))
        for name in ("receivedAt", "sentAt", "originalTimestamp", "timestamp")
    )
    arrival = received if received is not None and received <= kafka + DAY else kafka
    if sent is not None and original is not None and sent >= original:
        corrected = arrival - (sent - original)
        if corrected >= _YEAR_1600:
            return arrival, corrected
    for candidate in (given, original):
        if candidate is not None:
            return arrival, candidate
    return arrival, arrival
