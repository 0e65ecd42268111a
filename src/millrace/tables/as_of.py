"""Positions of the past: an ingest stamp, and the version of each table that is done up to it."""

from datetime import datetime

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lakehouse.contracts import TABLES
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.ops import LEDGER
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.log_files import commit_file, last_version_within, latest_version, read_metadata
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from lakehouse.timestamps import from_micros, rfc3339, to_micros
from millrace.tables.pins import Versions
from millrace.tables.table_reader import table_path

LATEST = "latest"
_LAYERS = ("silver", "gold")

STAMPS = {KAFKA_RECORDS.name: "ingested_at", LEDGER.name: "position"}
"""Tables whose rows have the ingest stamp that they are of, which their commits lack."""


def find_position(settings: Settings, text: str) -> int:
    """The position of the last commit to gold.traffic up to a time, in microseconds.

    Publish writes gold.traffic last, and less often than other tables. At its positions all tables have the
    same input, and the pages read them there too. Without gold.traffic, the time itself.

    Args:
        settings: the settings in force.
        text: a time in RFC 3339, an ingest stamp in microseconds, or `latest`.

    Raises:
        MillraceError: if it is neither, or before the first position that the log still has.
    """
    wanted = _read(text)
    folder = table_path(settings, TRAFFIC.name)
    version = latest_version(folder)
    if version < 0:
        if wanted is None:
            raise MillraceError(
                "there is no position yet", "Run the jobs first: `millrace run publish --once`"
            )
        return wanted
    while commit_file(folder, version).exists():
        mark = read_metadata(folder, version).get("upto")
        if isinstance(mark, int) and (wanted is None or mark <= wanted):
            return mark
        version -= 1
    raise MillraceError(
        f"no position is known up to {text}", "Give a later one; `latest` is the one that the pages show"
    )


def versions_as_of(settings: Settings, position: int) -> Versions:
    """By table of silver and gold, the last version before the first commit beyond a position.

    Raises:
        MillraceError: if VACUUM or log retention has removed one of them.
    """
    found: dict[str, int | None] = {}
    for name in (name for name, table in TABLES.items() if table.layer in _LAYERS):
        folder = table_path(settings, name)
        latest = latest_version(folder)
        version = last_version_within(folder, latest, position) if latest >= 0 else None
        try:
            if version is not None and version < latest:
                DeltaTable(folder, version=version)
        except DeltaError as error:
            at = rfc3339(from_micros(position))
            raise MillraceError(
                f"{name} can't be read as of {at} any more", "Give a later position"
            ) from error
        found[name] = version
    return found


def _read(text: str) -> int | None:
    """A position in microseconds; None for the latest."""
    if text == LATEST:
        return None
    if text.isdecimal():
        return int(text)
    try:
        return to_micros(datetime.fromisoformat(text.replace("Z", "+00:00")))
    except ValueError:
        raise MillraceError(
            f"{text!r} is no position",
            "Give a time as 2026-11-02T10:30:00Z, microseconds since 1970, or latest",
        ) from None
