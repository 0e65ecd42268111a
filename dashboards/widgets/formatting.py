"""Formatting of values: numbers in the viewer's locale, and text from events made safe to show."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import polars as pl

_MOST_TEXT = 200  # characters shown of a text; events may contain text of any length
# Control characters, and characters that change the text direction.
_UNSEEN = r"[\p{Cc}\u{2028}\u{2029}\u{200E}\u{200F}\u{202A}-\u{202E}\u{2066}-\u{2069}]"
_COMMA = ("de", "es", "it", "nl", "pt", "da", "id", "tr", "el", "hr", "sl", "ro")  # 1.234,5
_SPACE = ("fr", "nb", "nn", "no", "sv", "fi", "ru", "uk", "pl", "cs", "sk", "bg", "hu")  # 1 234,5


@dataclass(frozen=True)
class Locale:
    """Separators of numbers.

    Args:
        point: decimal separator.
        group: thousands separator.
        per_cent: suffix of percentages.
    """

    point: str = "."
    group: str = ","
    per_cent: str = "%"

    def number(self, value: float | None, digits: int = 0) -> str:
        """A number with a fixed count of decimals; a dash for None."""
        if value is None:
            return "–"
        text = f"{value:,.{digits}f}".replace("-", "−")
        return text.translate(str.maketrans({",": self.group, ".": self.point}))

    def money(self, value: Decimal) -> str:
        """An amount with two decimals, or four if it has fractions of a cent."""
        return self.number(float(value), 2 if value == round(value, 2) else 4)

    def size(self, size: float) -> str:
        """A size in bytes, in a suitable unit."""
        for unit in ("B", "kB", "MB", "GB"):
            if size < 1000:
                return f"{self.number(size, 0 if unit == 'B' else 1)} {unit}"
            size /= 1000
        return f"{self.number(size, 1)} TB"

    def share(self, value: float | None, digits: int = 1) -> str:
        """A ratio as a percentage; a dash for None."""
        return "–" if value is None else f"{self.number(100 * value, digits)}{self.per_cent}"


def locale_of(language: str | None) -> Locale:
    """The locale for a browser language such as `de-CH`; English by default."""
    name = (language or "en").lower()
    if name in ("de-ch", "de-li", "it-ch"):
        return Locale(".", "’")
    if name.split("-")[0] in _COMMA and name != "es-mx":
        return Locale(",", ".", "\u00a0%")
    return Locale(",", "\u202f", "\u00a0%") if name.split("-")[0] in _SPACE else Locale()


def plain(column: str | pl.Expr) -> pl.Expr:
    """Text from an event made safe to show: one line, one text direction, at most 200 characters."""
    text = (pl.col(column) if isinstance(column, str) else column).str.replace_all(_UNSEEN, " ")
    shown = pl.format("{}…", text.str.slice(0, _MOST_TEXT))
    return pl.when(text.str.len_chars() > _MOST_TEXT).then(shown).otherwise(text)


def plain_text(text: object) -> str:
    """Like `plain`, for one value; a dash for None."""
    return "–" if text is None else str(pl.select(plain(pl.lit(str(text)))).item())


def utc(instant: datetime | None) -> str:
    """A time in UTC, to the second."""
    return "not yet" if instant is None else f"{instant:%Y-%m-%d %H:%M:%S} UTC"


def ago(then: datetime, now: datetime) -> str:
    """The time since `then`, in the largest fitting unit."""
    return f"{lasting(now - then)} ago"


def lasting(span: timedelta) -> str:
    """A duration in the largest fitting unit."""
    seconds = max(int(span.total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
