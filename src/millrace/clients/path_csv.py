"""Files of channel paths: CSV with one row per path, as other attribution tools read and write it."""

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path as File

from folds.persons.models import DIRECT
from gold.rules.paths import Path
from lakehouse.errors import MillraceError

_NEEDED = ("path", "conversions")
_COUNTS = ("conversions", "nulls")


def read_paths(file: File) -> list[Path]:
    """Read a file of paths.

    Args:
        file: CSV in UTF-8 with a header: `path`, channels in order as `a > b > c`, empty for only Direct;
            `conversions`; and optionally (default 0) their total `value`, and `nulls`. Other columns are
            ignored.

    Raises:
        MillraceError: if the file can't be read, a column is missing, or a row does not have this form.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            return list(_parse(csv.DictReader(lines), file))
    except OSError as error:
        raise MillraceError(
            f"{file} can't be read: {(error.strerror or str(error)).lower()}", "Name a CSV file of paths"
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise MillraceError(f"{file} is no CSV in UTF-8: {error}", "Name a CSV file of paths") from error


def _parse(rows: "csv.DictReader[str]", file: File) -> Iterator[Path]:
    missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
    if missing:
        raise MillraceError(
            f"{file} has no column {' and no column '.join(missing)}",
            "Its first line has to name the columns: path,conversions,value,nulls",
        )
    try:
        yield from map(_path, rows)
    except ValueError as error:
        raise MillraceError(f"{file}, line {rows.line_num}: {error}", "Correct the line") from error


def _path(row: Mapping[str, str | None]) -> Path:
    text = (row["path"] or "").strip()
    channels = tuple(channel.strip() for channel in text.split(">")) if text else (DIRECT,)
    if not all(channels):
        raise ValueError(f"a channel of the path {text!r} has no name")
    return Path(channels, *(_number(row, name) for name in ("conversions", "value", "nulls")))


def _number(row: Mapping[str, str | None], name: str) -> float:
    text = (row.get(name) or "").strip()
    try:
        number = float(text or 0)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (name in _COUNTS and number < 0):
        wanted = "a number that is not negative" if name in _COUNTS else "a number"
        raise ValueError(f"{name} is {text!r}, not {wanted}")
    return number
