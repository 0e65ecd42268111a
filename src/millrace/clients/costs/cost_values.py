"""Values in cells of cost files: days, amounts and counts as platforms write them."""

import re
from datetime import date
from decimal import Decimal

from folds.costs.cost_rules import Platform
from millrace.clients.days import parse_day

_NOTHING = ("", "-", "--", "—")
_SIGNS = re.compile(r"[^\W\d_]{1,3}|[$€£¥₹]")  # a currency's code or sign, which has a column of its own


def read_day(cell: str, platform: Platform) -> date | None:
    """A day, as 2026-03-01 or in one of the platform's formats; None if it is none."""
    return parse_day(cell, ("%Y-%m-%d", *platform.day_formats))


def read_amount(cell: str, platform: Platform) -> Decimal | None:
    """An amount with the platform's decimal point, thousands separated or not; None if it is none.

    A cell without an amount, as `--`, is zero.
    """
    if cell in _NOTHING:
        return Decimal(0)
    figures = _SIGNS.sub("", cell.replace("\N{MINUS SIGN}", "-")).strip()
    found = re.fullmatch(_amount_pattern(platform.decimal_point), figures)
    if found is None:
        return None
    sign, whole, decimals = found.groups()
    return Decimal(f"{sign.strip()}{re.sub('[^0-9]', '', whole)}.{decimals or 0}")


def read_count(cell: str) -> int | None:
    """A count, thousands separated or not; None if there is none."""
    whole = re.sub(r"[.,' \u00a0\u202f](?=\d{3}(?!\d))", "", cell)
    return int(whole) if re.fullmatch("[0-9]{1,18}", whole) else None


def _amount_pattern(point: str) -> str:
    separator = r"[,' \u00a0\u202f]" if point == "." else r"[.' \u00a0\u202f]"
    return rf"(-? ?)(\d{{1,3}}(?:{separator}\d{{3}})+|\d+)(?:{re.escape(point)}(\d+))?"
