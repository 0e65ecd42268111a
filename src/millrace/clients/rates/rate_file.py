"""Reads a file of exchange rates whole, before any of it is sent."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal, localcontext
from zoneinfo import ZoneInfo

from folds.records.decimals import RATE, parse_decimal
from folds.records.event_time import parse_time
from lakehouse.errors import MillraceError
from lakehouse.timestamps import from_micros
from millrace.clients.days import parse_day
from millrace.clients.whole_file import decode_lines

COLUMNS = ("currency", "rate", "valid_from")
EURO = "EUR"
_CODE = re.compile("[A-Z]{3}")
_DELIMITERS = ",;\t"
_NONE = ("", "N/A")
_DAY_FORMATS = ("%Y-%m-%d", "%d %B %Y")  # of the ECB's history, and of its latest day

Cells = list[str]


@dataclass(frozen=True)
class Rate:
    """A rate of a file.

    Attributes:
        line: number of its line.
        currency: its code in capitals.
        rate: value of one unit in the reporting currency.
        valid_from: start, included.
    """

    line: int
    currency: str
    rate: Decimal
    valid_from: datetime


@dataclass(frozen=True)
class RateFile:
    """A file that could be read.

    Attributes:
        is_of_ecb: whether it has reference rates of the European Central Bank.
        rates: in the order of the file.
        left_out: number of days without a rate of the reporting currency.
    """

    is_of_ecb: bool
    rates: Sequence[Rate]
    left_out: int


def read_rate_file(lines: Sequence[bytes], file: str, reporting: str, zone: ZoneInfo) -> RateFile:
    """Read all rates of a file: columns `currency`, `rate` and `valid_from`, or the ECB's reference rates.

    Args:
        lines: the file's lines, without their ends.
        file: its name, for messages.
        reporting: the reporting currency.
        zone: in which a day of the ECB begins.

    Raises:
        MillraceError: if there is no header, or a row cannot be read. The message names the line.
    """
    texts = decode_lines(lines, file)
    delimiter = max(_DELIMITERS, key=texts[0].count) if texts else ","
    header = [cell.strip() for cell in next(csv.reader(texts[:1], delimiter=delimiter), [])]
    titles = [title.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").casefold() for title in header]
    reader = _Reader(file, reporting.upper(), zone)
    rows = reader.rows(texts[1:], delimiter)
    is_own = set(COLUMNS) <= set(titles)
    if is_own:
        rates = list(reader.own(rows, [titles.index(column) for column in COLUMNS]))
    elif titles[:1] == ["date"] and all(_CODE.fullmatch(title) for title in header[1:] if title):
        rates = list(reader.of_ecb(rows, header))
    else:
        raise MillraceError(
            f"line 1 of {file} is no header of exchange rates",
            f"Give columns {', '.join(COLUMNS)}, or the ECB's reference rates as CSV (Date,USD,JPY,…)",
        )
    if not rates:
        raise MillraceError(f"{file} has no rate", "Give a file with rows after its header")
    return RateFile(not is_own, rates, reader.left_out)


class _Reader:
    """Reads the rows after a header."""

    def __init__(self, file: str, reporting: str, zone: ZoneInfo) -> None:
        self._file = file
        self._reporting = reporting
        self._zone = zone
        self.left_out = 0

    def rows(self, lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, Cells]]:
        """The number of each line that is not blank, and its cells."""
        reader = csv.reader(lines, delimiter=delimiter)
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num + 1, cells

    def own(self, rows: Iterator[tuple[int, Cells]], places: Sequence[int]) -> Iterator[Rate]:
        """Rates of a file with a row for each."""
        for line, cells in rows:
            if len(cells) <= max(places):
                raise self._error(line, f"has {len(cells)} cells", "Give each row all columns")
            code, rate, valid_from = (cells[place] for place in places)
            if _CODE.fullmatch(code.upper()) is None:
                raise self._error(line, f"has {code!r} for a currency", "Give an ISO 4217 code, as USD")
            at = parse_time(valid_from)
            if at is None:
                raise self._error(line, f"has {valid_from!r} for a time", "Write it as 2026-03-01T00:00:00Z")
            yield self._rate(line, code.upper(), rate, from_micros(at))

    def of_ecb(self, rows: Iterator[tuple[int, Cells]], header: Sequence[str]) -> Iterator[Rate]:
        """Reference rates of the European Central Bank: units of each currency for one euro, by day."""
        if self._reporting != EURO and self._reporting not in header:
            raise MillraceError(
                f"{self._file} has no column {self._reporting}, the reporting currency",
                "Give a file with its rates, or set MILLRACE_REPORTING_CURRENCY",
            )
        for line, cells in rows:
            start = datetime.combine(self._day(cells[0], line), datetime.min.time(), self._zone)
            per_euro = {
                code: self._units(cell, line)
                for code, cell in zip(header[1:], cells[1:], strict=False)
                if code and cell not in _NONE
            } | {EURO: Decimal(1)}
            reporting = per_euro.pop(self._reporting, None)
            if reporting is None:
                self.left_out += 1
                continue
            with localcontext(prec=50):
                for code, units in per_euro.items():
                    yield self._rate(line, code, f"{reporting / units:.30f}", start.astimezone(timezone.utc))

    def _rate(self, line: int, currency: str, text: str, valid_from: datetime) -> Rate:
        rate = parse_decimal(text, RATE)
        if rate is None or rate <= 0:
            raise self._error(
                line, f"has {text!r} for a rate of {currency}", "Give a number above 0, as 0.92"
            )
        return Rate(line, currency, rate, valid_from)

    def _day(self, cell: str, line: int) -> date:
        day = parse_day(cell, _DAY_FORMATS)
        if day is None:
            raise self._error(line, f"has {cell!r} for a day", "Write it as 2026-03-01")
        return day

    def _units(self, cell: str, line: int) -> Decimal:
        units = parse_decimal(cell, RATE)
        if units is None or units <= 0:
            raise self._error(line, f"has {cell!r} for a rate", "Give units of the currency for one euro")
        return units

    def _error(self, line: int, problem: str, advice: str) -> MillraceError:
        return MillraceError(f"line {line} of {self._file} {problem}; nothing was sent", advice)
