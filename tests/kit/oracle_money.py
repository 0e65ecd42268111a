"""Test oracle for money: amounts as numbers and as text.

Shares no code with `src/`.
"""

import re
import unicodedata
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import yaml

_CONF = Path(__file__).resolve().parents[2] / "conf"
_NAMES = {
    name.upper()
    for names in yaml.safe_load((_CONF / "currencies.yml").read_text(encoding="utf-8")).values()
    for name in names
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_CENT = Decimal("0.0001")


def money(text: str | None) -> Decimal | None:
    """An amount, rounded half up to four decimals; None if it is no number or too large for 18 digits."""
    figures = (text or "").strip(" \t\n\v\f\r")
    if _NUMBER.fullmatch(figures):
        return _rounded(figures)
    plain = _without_currency(text or "")
    return None if plain is None else _rounded(plain)


def read_money(sent: list[str | None]) -> tuple[Decimal | None, str | None]:
    """The first amount that is a number, and the first text before it that is none, cut to 64 characters."""
    unread = None
    for text in sent:
        found = money(text)
        if found is not None:
            return found, unread
        if unread is None and (text or "").strip():
            unread = (text or "")[:64]
    return None, unread


def _rounded(figures: str) -> Decimal | None:
    exact = Decimal(figures)
    if not exact or exact.adjusted() < -10:
        return Decimal("0.0000")
    if exact.adjusted() > 13:
        return None
    rounded = exact.quantize(_CENT, ROUND_HALF_UP)
    return rounded + 0 if abs(rounded) < 10**14 else None  # + 0: no negative zero


def _without_currency(text: str) -> str | None:
    """The number in a text with currency and separators, as plain digits; None if there is none."""
    at = [index for index, each in enumerate(text) if each in "0123456789"]
    if not at:
        return None
    start, end = at[0], at[-1] + 1
    if start and text[start - 1] in ".,":
        start -= 1
    before, after = " ".join(text[:start].split()), " ".join(text[end:].split())
    negative = False
    for edge in (0, -1):
        if before and before[edge] in "+-−":
            negative = before[edge] != "+"
            before = (before[1:] if edge == 0 else before[:-1]).strip()
            break
    if not all(_is_currency(name) for name in (before, after)):
        return None
    number = _digits(text[start:end])
    return None if number is None else ("-" if negative else "") + number


def _is_currency(name: str) -> bool:
    return not name or name.upper() in _NAMES or (len(name) == 1 and unicodedata.category(name) == "Sc")


def _digits(figures: str) -> str | None:
    """Figures as plain digits, if there is one way to read them."""
    marks = [each for each in figures if each not in "0123456789"]
    if marks == ["."]:
        return figures
    readings = {_grouped(figures, None)}
    if marks and marks[-1] in ".," and marks.count(marks[-1]) == 1:  # the last mark may begin the decimals
        readings.add(_grouped(figures, marks[-1]))
    numbers = [number for number in readings if number is not None]
    return numbers[0] if len(numbers) == 1 else None


def _grouped(figures: str, decimal: str | None) -> str | None:
    whole, _, fraction = figures.partition(decimal) if decimal else (figures, "", "")
    if decimal and not re.fullmatch("[0-9]+", fraction):
        return None
    separators = {each for each in whole if each not in "0123456789"}
    if not separators:
        return f"{whole or 0}.{fraction or 0}"
    if len(separators) > 1 or not separators <= set(" .,'’\u00a0\u2007\u2009\u202f"):
        return None
    first, *groups = whole.split(separators.pop())
    thousands = all(len(group) == 3 for group in groups) and 1 <= len(first) <= 3
    lakhs = (
        "," in whole
        and decimal in (None, ".")
        and len(groups) > 1
        and all(len(group) == 2 for group in groups[:-1])
        and len(groups[-1]) == 3
        and 1 <= len(first) <= 2
    )
    return f"{first}{''.join(groups)}.{fraction or 0}" if first[:1] != "0" and (thousands or lakhs) else None
