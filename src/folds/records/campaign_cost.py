"""Parses records of the topic of campaign costs: a row of a cost file each."""

import re
from datetime import date
from typing import Any

import msgspec
from msgspec import Raw

from folds.records.decimals import MONEY, parse_decimal
from folds.records.event_time import parse_time
from folds.records.json_text import NOTHING, text
from folds.records.message import decode_value
from folds.records.outcomes import CampaignCost, Record, Rejection

_CODE = re.compile("[A-Za-z]{3}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_COUNT = re.compile(r"\d{1,18}", re.ASCII)
_FIRST_YEAR = 1970
_MAX_NAME = 1024  # characters
_MAX_ROWS = 2**31 - 1


class _Cost(msgspec.Struct, gc=False):
    platform: Raw = NOTHING
    account: Raw = NOTHING
    day: Raw = NOTHING
    campaign_source: Raw = NOTHING
    campaign_medium: Raw = NOTHING
    campaign_name: Raw = NOTHING
    ad_group: Raw = NOTHING
    cost: Raw = NOTHING
    currency: Raw = NOTHING
    clicks: Raw = NOTHING
    impressions: Raw = NOTHING
    loaded_at: Raw = NOTHING
    load_id: Raw = NOTHING
    load_row: Raw = NOTHING
    load_rows: Raw = NOTHING


_decode = msgspec.json.Decoder(_Cost).decode


def parse_cost(record: Record) -> CampaignCost | Rejection:
    """Parse a campaign's cost, or reject the record with a reason."""
    if not record.value:
        return Rejection("empty", record.timestamp)
    sent = decode_value(record.value, _decode)
    if sent is None:
        return Rejection("not_json", record.timestamp)
    required: dict[str, Any] = {
        "platform": _name(sent.platform),
        "account": _name(sent.account),
        "day": _day(sent.day),
        "campaign_name": _name(sent.campaign_name),
        "cost": parse_decimal(text(sent.cost), MONEY),
        "currency": _code(sent.currency),
        "loaded_at": parse_time(text(sent.loaded_at)),
        "load_id": _name(sent.load_id),
        "load_row": _count(sent.load_row),
        "load_rows": _count(sent.load_rows),
    }
    if None in required.values() or not 0 < required["load_row"] <= required["load_rows"] <= _MAX_ROWS:
        return Rejection("bad_cost", record.timestamp)
    return CampaignCost(
        **required,
        campaign_source=_name(sent.campaign_source),
        campaign_medium=_name(sent.campaign_medium),
        ad_group=_name(sent.ad_group),
        clicks=_count(sent.clicks),
        impressions=_count(sent.impressions),
    )


def _name(raw: Raw) -> str | None:
    name = (text(raw) or "").strip()
    return name if 0 < len(name) <= _MAX_NAME else None


def _code(raw: Raw) -> str | None:
    code = text(raw) or ""
    return code.upper() if _CODE.fullmatch(code) else None


def _count(raw: Raw) -> int | None:
    count = text(raw) or ""
    return int(count) if _COUNT.fullmatch(count) else None


def _day(raw: Raw) -> date | None:
    day = text(raw) or ""
    if _DAY.fullmatch(day) is None or int(day[:4]) < _FIRST_YEAR:
        return None
    try:
        return date.fromisoformat(day)
    except ValueError:
        return None
