"""Parses records of the exchange rate topic."""

import re

import msgspec
from msgspec import Raw

from folds.records.decimals import RATE, parse_decimal
from folds.records.event_time import parse_time
from folds.records.json_text import NOTHING, text
from folds.records.message import decode_value
from folds.records.outcomes import ExchangeRate, Record, Rejection

_CODE = re.compile("[A-Za-z]{3}")


class _Rate(msgspec.Struct, gc=False):
    currency: Raw = NOTHING
    rate: Raw = NOTHING
    valid_from: Raw = NOTHING


_decode = msgspec.json.Decoder(_Rate).decode


def parse_rate(record: Record) -> ExchangeRate | Rejection:
    """Parse an exchange rate, or reject the record with a reason."""
    if not record.value:
        return Rejection("empty", record.timestamp)
    sent = decode_value(record.value, _decode)
    if sent is None:
        return Rejection("not_json", record.timestamp)
    code, rate = text(sent.currency) or "", parse_decimal(text(sent.rate), RATE)
    valid_from = parse_time(text(sent.valid_from))
    if _CODE.fullmatch(code) is None or rate is None or rate <= 0 or valid_from is None:
        return Rejection("bad_rate", record.timestamp)
    return ExchangeRate(code.upper(), rate, valid_from, record.timestamp)
