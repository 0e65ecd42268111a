"""How values are written: numbers as the viewer's country has them, and text of events fit to be shown."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import polars as pl

_MOST_TEXT = 200  # characters: nobody reads more of a value, and events hold what they like
# Control characters, and those that turn the direction of the text around them.
_UNSEEN = r"[\p{Cc}\u{2028}\u{2029}\u{200E}\u{200F}\u{202A}-\u{202E}\u{2066}-\u{2069}]"
_COMMA = ("de", "es", "it", "nl", "pt", "da", "id", "tr", "el", "hr", "sl", "ro")  # 1.234,5
_SPACE = ("fr", "nb", "nn", "no", "sv", "fi", "ru", "uk", "pl", "cs", "sk", "bg", "hu")  # 1 234,5


@dataclass(frozen=True)
class Locale:
    """What stands between digits.

    Args:
        point: before the decimals.
        group: between thousands.
        per_cent: after a share in per cent.
    """

    point: str = "."
    group: str = ","
    per_cent: str = "%"

    def number(self, value: float, digits: int = 0) -> str:
        """A number with so many decimals."""
        text = f"{value:,.{digits}f}".replace("-", "−")
        return text.translate(str.maketrans({",": self.group, ".": self.point}))

    def money(self, value: Decimal) -> str:
        """An amount with cents; with its fractions of them, where it has any."""
        return self.number(float(value), 2 if value == round(value, 2) else 4)

    def size(self, size: float) -> str:
        """Bytes in the unit that fits."""
        for unit in ("B", "kB", "MB", "GB"):
            if size < 1000:
                return f"{self.number(size, 0 if unit == 'B' else 1)} {unit}"
            size /= 1000
        return f"{self.number(size, 1)} TB"

    def share(self, value: float | None, digits: int = 1) -> str:
        """A share of 1 in per cent."""
        return "–" if value is None else f"{self.number(100 * value, digits)}{self.per_cent}"


def locale_of(language: str | None) -> Locale:
    """The way of a language as a browser names it, `de-CH`; English where that is not known."""
    name = (language or "en").lower()
    if name in ("de-ch", "de-li", "it-ch"):
        return Locale(".", "’")
    if name.split("-")[0] in _COMMA and name != "es-mx":
        return Locale(",", ".", "\u00a0%")
    return Locale(",", "\u202f", "\u00a0%") if name.split("-")[0] in _SPACE else Locale()


def plain(column: str | pl.Expr) -> pl.Expr:
    """Text of an event, fit to be shown: one line, in one direction, not without end."""
    text = (pl.col(column) if isinstance(column, str) else column).str.replace_all(_UNSEEN, " ")
    shown = pl.format("{}…", text.str.slice(0, _MOST_TEXT))
    return pl.when(text.str.len_chars() > _MOST_TEXT).then(shown).otherwise(text)


def plain_text(text: object) -> str:
    """The same of one value; a dash for none."""
    return "–" if text is None else str(pl.select(plain(pl.lit(str(text)))).item())


def utc(instant: datetime | None) -> str:
    """An instant to the second."""
    return "not yet" if instant is None else f"{instant:%Y-%m-%d %H:%M:%S} UTC"


def ago(then: datetime, now: datetime) -> str:
    """How long ago, in the largest unit that says it."""
    return f"{lasting(now - then)} ago"


def lasting(span: timedelta) -> str:
    """How long, in the largest unit that says it."""
    seconds = max(int(span.total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
