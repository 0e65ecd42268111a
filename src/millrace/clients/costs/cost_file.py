"""Reads a cost file whole, before any of it is sent: one row that cannot be read refuses the file."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from hashlib import sha256

from folds.costs.cost_rules import CostRules
from lakehouse.errors import MillraceError
from millrace.clients.costs.cost_header import Cells, CostHeader, find_header
from millrace.clients.costs.cost_values import read_amount, read_count, read_day
from millrace.clients.whole_file import decode_lines

_DAILY = "Export it with a row for each day"


@dataclass(frozen=True)
class CostRow:
    """A row of a file: a campaign's cost on a day.

    Attributes:
        line: number of its line.
    """

    line: int
    account: str
    day: date
    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str
    ad_group: str | None
    cost: Decimal
    currency: str
    clicks: int | None
    impressions: int | None


@dataclass(frozen=True)
class CostFile:
    """A file that could be read.

    Attributes:
        platform: name of the mapping that read it.
        rows: in the order of the file.
        left_out: number of rows without a campaign or day: totals and footers.
        load_id: hash of the content.
    """

    platform: str
    rows: Sequence[CostRow]
    left_out: int
    load_id: str

    @property
    def days(self) -> Counter[tuple[str, date]]:
        """Number of rows by account and day."""
        return Counter((row.account, row.day) for row in self.rows)

    @property
    def total(self) -> dict[str, Decimal]:
        """Cost by currency."""
        found: dict[str, Decimal] = {}
        for row in self.rows:
            found[row.currency] = found.get(row.currency, Decimal(0)) + row.cost
        return found


def read_cost_file(lines: Sequence[bytes], rules: CostRules, file: str, account: str | None) -> CostFile:
    """Read all rows of a file.

    Args:
        lines: the file's lines, without their ends.
        rules: of conf/costs.yml.
        file: its name, for messages.
        account: of rows that name none; None: the platform's default.

    Raises:
        MillraceError: if there is no header, or a row cannot be read. The message names the line.
    """
    texts = decode_lines(lines, file)
    header = find_header(texts, rules, file)
    reader = _RowReader(header, file, account)
    rows = list(reader.rows(texts[header.line :]))
    if not rows:
        raise MillraceError(
            f"{file} has the header of {header.name}, and no costs", "Export a period with costs"
        )
    return CostFile(header.name, rows, reader.left_out, sha256(b"\n".join(lines)).hexdigest()[:32])


class _RowReader:
    """Reads the rows after a header."""

    def __init__(self, header: CostHeader, file: str, account: str | None) -> None:
        self._header = header
        self._platform = header.platform
        self._file = file
        self._account = account or header.platform.defaults.account
        self.left_out = 0

    def rows(self, lines: Sequence[str]) -> Iterator[CostRow]:
        """The rows that are no totals."""
        reader = csv.reader(lines, delimiter=self._header.delimiter)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if self._is_total(cells):
                self.left_out += 1
            else:
                yield self._row(cells, self._header.line + reader.line_num)

    def _is_total(self, cells: Cells) -> bool:
        """Whether a row has no campaign, or starts like a total and has no day."""
        if not self._header.cell(cells, "campaign"):
            return True
        first = next(cell.strip() for cell in cells if cell.strip()).casefold()
        is_named = first.startswith(tuple(each.casefold() for each in self._platform.totals))
        return is_named and read_day(self._header.cell(cells, "day"), self._platform) is None

    def _row(self, cells: Cells, line: int) -> CostRow:
        header, defaults = self._header, self._platform.defaults
        if len(cells) != header.width:
            raise self._error(
                line, f"has {len(cells)} cells, the header {header.width}", "Export the file again as CSV"
            )
        return CostRow(
            line=line,
            account=header.cell(cells, "account") or self._account,
            day=self._day(cells, line),
            campaign_source=header.cell(cells, "source") or defaults.source,
            campaign_medium=header.cell(cells, "medium") or defaults.medium,
            campaign_name=header.cell(cells, "campaign"),
            ad_group=header.cell(cells, "ad_group") or None,
            cost=self._cost(cells, line),
            currency=self._currency(cells, line),
            clicks=read_count(header.cell(cells, "clicks")),
            impressions=read_count(header.cell(cells, "impressions")),
        )

    def _day(self, cells: Cells, line: int) -> date:
        sent, last = (self._header.cell(cells, column) for column in ("day", "last_day"))
        day = read_day(sent, self._platform)
        if day is None:
            raise self._error(
                line,
                f"has {sent!r} for a day",
                f"{_DAILY}, or add how days are written to day_formats in conf/costs.yml",
            )
        if last and read_day(last, self._platform) != day:
            raise self._error(line, f"is of {sent} to {last}", _DAILY)
        return day

    def _cost(self, cells: Cells, line: int) -> Decimal:
        sent = self._header.cell(cells, "cost")
        cost = read_amount(sent, self._platform)
        if cost is None:
            point = self._platform.decimal_point
            raise self._error(
                line, f"has {sent!r} for a cost", f"conf/costs.yml says decimal_point {point!r}: correct that"
            )
        return cost

    def _currency(self, cells: Cells, line: int) -> str:
        found = (
            self._header.cell(cells, "currency") or self._header.currency or self._platform.defaults.currency
        )
        if not found:
            raise self._error(
                line,
                "names no currency",
                "Export the currency's code, or name it under defaults in conf/costs.yml",
            )
        if not (len(found) == 3 and found.isascii() and found.isalpha()):
            raise self._error(line, f"has {found!r} for a currency", "Give an ISO 4217 code, as EUR")
        return found.upper()

    def _error(self, line: int, problem: str, advice: str) -> MillraceError:
        problem = f"line {line} of {self._file}, read as {self._header.name}, {problem}; nothing was sent"
        return MillraceError(problem, advice)
