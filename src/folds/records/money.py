"""Parses money as clients send it: numbers, and text as people write amounts."""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from folds.records.decimals import MONEY, parse_decimal
from lakehouse.bundle_file import parse_yaml
from lakehouse.errors import MillraceError, first_problem

FILE = "currencies.yml"
_BLANKS = " \u00a0\u2007\u2009\u202f"
_FIGURES = re.compile(rf"[.,]?\d(?:[\d.,'’{_BLANKS}]*\d)?", re.ASCII)
_ONE_MARK = re.compile(r"\d+|\d*[.,]\d+", re.ASCII)
_MARK_OR_SEPARATOR = re.compile(r"[1-9]\d{0,2},\d{3}", re.ASCII)
_THOUSANDS = re.compile(
    rf"([1-9]\d{{0,2}}(?:(?P<by>[.,'’{_BLANKS}])\d{{3}})(?:(?P=by)\d{{3}})*)(?:([.,])(\d+))?", re.ASCII
)
_LAKHS = re.compile(r"([1-9]\d?(?:,\d\d)+,\d{3})(?:\.(\d+))?", re.ASCII)  # of India: 1,00,000
_AROUND = re.compile(r"([+\-−]?) ?([^+\-−]*?) ?([+\-−]?)")
_NO_DIGITS = re.compile(r"\D+")


@dataclass(frozen=True)
class Currencies:
    """What may stand before or after an amount.

    Args:
        names: signs and codes, in upper case.
    """

    names: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Whether this is a currency's sign or code, or nothing."""
        return not name or _is_sign(name) or name.upper() in self.names


NO_CURRENCIES = Currencies()


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    signs: list[str] = []
    codes: list[str] = []


def parse_money(text: str | None, currencies: Currencies) -> Decimal | None:
    """Parse an amount, rounded half up to four decimals; None if it is not a number or does not fit.

    A currency's sign or code may stand before and after it. Thousands separators and a decimal comma are read
    where they can be nothing else: `2,000.00`, `1.999,00`, `1 999` and `12,50` are numbers, `6,795` is none.
    """
    plain = parse_decimal(text, MONEY)
    if plain is not None or not text:
        return plain
    found = _FIGURES.search(text)
    if found is None:
        return None
    before, after = (" ".join(part.split()) for part in (text[: found.start()], text[found.end() :]))
    around = _AROUND.fullmatch(before)
    if around is None or not (currencies.has(around[2]) and currencies.has(after)):
        return None
    signs = around[1] + around[3]
    figures = _plain(found[0])
    if figures is None or len(signs) > 1:
        return None
    return parse_decimal(("" if signs in ("", "+") else "-") + figures, MONEY)


def _plain(figures: str) -> str | None:
    """Figures with a decimal point and without separators; None unless there is one way to read them."""
    if _ONE_MARK.fullmatch(figures):
        return None if _MARK_OR_SEPARATOR.fullmatch(figures) else figures.replace(",", ".")
    if lakhs := _LAKHS.fullmatch(figures):
        return f"{lakhs[1].replace(',', '')}.{lakhs[2] or 0}"
    found = _THOUSANDS.fullmatch(figures)
    if found is None or found[3] == found["by"]:
        return None
    return f"{_NO_DIGITS.sub('', found[1])}.{found[4] or 0}"


def _is_sign(name: str) -> bool:
    return len(name) == 1 and unicodedata.category(name) == "Sc"


def load_currencies(conf: Path) -> Currencies:
    """Read conf/currencies.yml; without the file, only signs of one character are known.

    Raises:
        MillraceError: if it is not valid.
    """
    file = conf / FILE
    return _load(file.read_text(encoding="utf-8") if file.is_file() else "")


@lru_cache(maxsize=4)
def _load(document: str) -> Currencies:
    """Cached by text: jobs load it for each micro-batch."""
    try:
        read = _Document.model_validate(parse_yaml(document, FILE) or {})
    except ValidationError as error:
        raise MillraceError(f"{FILE}: {first_problem(error)}", f"Correct {FILE} in conf/") from error
    return Currencies(frozenset(name.strip().upper() for name in (*read.signs, *read.codes)))
