"""The header of a cost file: which platform it is of, and where its columns are."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from folds.costs.cost_rules import CostColumns, CostRules, Platform
from lakehouse.errors import MillraceError

HEADER_LINES = 30
"""The header is one of a file's first lines; before it, there are a title and the period."""

REQUIRED = ("day", "campaign", "cost")
_DELIMITERS = ",;\t"
_CURRENCY = "{currency}"
Cells = list[str]


@dataclass(frozen=True)
class CostHeader:
    """What the header says.

    Attributes:
        name: the platform's name in conf/costs.yml.
        platform: its mapping.
        places: index of each column that is there.
        width: number of columns.
        currency: the code in the name of the cost column; None without one.
        line: number of the header's line.
        delimiter: what separates cells.
    """

    name: str
    platform: Platform
    places: Mapping[str, int]
    width: int
    currency: str | None
    line: int
    delimiter: str

    def cell(self, cells: Cells, column: str) -> str:
        """A row's cell without white space around it; empty if there is no such column."""
        place = self.places.get(column)
        return "" if place is None or place >= len(cells) else cells[place].strip()


def find_header(lines: Sequence[str], rules: CostRules, file: str) -> CostHeader:
    """Find the header in a file's first lines; of several platforms, the one with most columns.

    Raises:
        MillraceError: if there is none. The message names the columns that the likeliest line lacks.
    """
    found = list(_candidates(lines, rules))
    complete = [each for each in found if not _missing(each)]
    if complete:
        return max(complete, key=lambda each: len(each.places))
    if not rules.platforms:
        raise MillraceError("conf/costs.yml has no platforms", "Add the columns of the file's platform there")
    nearest = max(found, key=lambda each: len(each.places), default=None)
    if nearest is None or not nearest.places:
        raise MillraceError(
            f"no header of a cost file is among the first {HEADER_LINES} lines of {file}",
            f"Export days, campaigns and costs as CSV ({_listed(rules.platforms)}), or add the platform's "
            "columns to conf/costs.yml",
        )
    lacking = _listed(_missing(nearest))
    raise MillraceError(
        f"line {nearest.line} of {file} looks like the header of {nearest.name}, and lacks {lacking}",
        f"Export it with that column, or add the column's name to {nearest.name} in conf/costs.yml",
    )


def _candidates(lines: Sequence[str], rules: CostRules) -> Iterator[CostHeader]:
    for number, line in enumerate(lines[:HEADER_LINES], 1):
        for delimiter in _DELIMITERS:
            cells = next(csv.reader([line], delimiter=delimiter), [])
            for name, platform in rules.platforms.items():
                places, currency = _places(cells, platform.columns)
                yield CostHeader(name, platform, places, len(cells), currency, number, delimiter)


def _places(cells: Cells, columns: CostColumns) -> tuple[dict[str, int], str | None]:
    titles = [cell.strip().casefold() for cell in cells]
    places, currency = {}, None
    for column, names in columns:
        for name in names:
            matches = [re.fullmatch(_pattern(name), title) for title in titles]
            place = next((number for number, match in enumerate(matches) if match), None)
            if place is not None:
                places[column] = place
                found = matches[place]
                if column == "cost" and found and found.groups():
                    currency = found[1].upper()
                break
    return places, currency


def _pattern(name: str) -> str:
    return re.escape(name.casefold()).replace(re.escape(_CURRENCY), "([a-z]{3})")


def _missing(header: CostHeader) -> list[str]:
    return [column for column in REQUIRED if column not in header.places]


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(names)
