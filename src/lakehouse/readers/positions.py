"""Positions of the past: an ingest stamp, and the version of each table that is done up to it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial

from deltalake.exceptions import DeltaError

from lakehouse.contracts import TABLES
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.ops import LEDGER
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.log_files import last_version_within
from lakehouse.errors import MillraceError
from lakehouse.readers.versioned_tables import VersionedTables
from lakehouse.timestamps import from_micros, rfc3339, to_micros

LATEST = "latest"
_LAYERS = ("silver", "gold")

STAMPS = {KAFKA_RECORDS.name: "ingested_at", LEDGER.name: "position"}
"""Tables whose rows have the ingest stamp that they are of, which their commits lack."""


def find_position(tables: VersionedTables, text: str) -> int:
    """The position of the last commit to gold.traffic up to a time, in microseconds.

    Publish writes gold.traffic last, and less often than other tables. At its positions all tables have the
    same input, and the pages read them there too. Without gold.traffic, the time itself.

    Args:
        tables: the tables.
        text: a time in RFC 3339, an ingest stamp in microseconds, or `latest`.

    Raises:
        MillraceError: if it is neither, or before the first position that the log still has.
    """
    wanted = _read(text)
    version = tables.latest_version(TRAFFIC.name)
    if version < 0:
        if wanted is None:
            raise MillraceError(
                "there is no position yet", "Run the jobs first: `millrace run publish --once`"
            )
        return wanted
    while (metadata := tables.metadata(TRAFFIC.name, version)) is not None:
        mark = metadata.get("upto")
        if isinstance(mark, int) and (wanted is None or mark <= wanted):
            return mark
        version -= 1
    raise MillraceError(
        f"no position is known up to {text}", "Give a later one; `latest` is the one that the pages show"
    )


def versions_as_of(
    tables: VersionedTables, position: int, names: Iterable[str] | None = None
) -> Mapping[str, int | None]:
    """By table of silver and gold, the last version before the first commit beyond a position.

    None for a table that does not exist.

    Args:
        tables: the tables.
        position: an ingest stamp in microseconds.
        names: the tables; None: all of silver and gold.

    Raises:
        MillraceError: if VACUUM or log retention has removed one of them.
    """
    found = dict[str, int | None]()
    wanted = TABLES if names is None else names
    for name in (name for name in wanted if TABLES[name].layer in _LAYERS):
        latest = tables.latest_version(name)
        version = _last_within(tables, name, latest, position) if latest >= 0 else None
        try:
            if version is not None and version < latest:
                tables.at(name, version)
        except DeltaError as error:
            raise _unreadable(name, position) from error
        found[name] = version
    return found


def snapshot_versions(tables: VersionedTables, text: str, names: Iterable[str]) -> dict[str, int]:
    """The versions of some tables as of a position, at which a reader of rows and changes may begin.

    Args:
        tables: the tables.
        text: the position, see `find_position`.
        names: tables of silver and gold.

    Raises:
        MillraceError: if there is no such position, or a table can't be read as of it.
    """
    names = tuple(names)
    if others := [name for name in names if TABLES[name].layer not in _LAYERS]:
        raise MillraceError(
            f"{others[0]} is not read as of a position",
            "Tables of silver and gold are",
        )
    found = versions_as_of(tables, find_position(tables, text), names)
    if missing := [name for name, version in found.items() if version is None]:
        raise MillraceError(f"there is no table {missing[0]} yet", "`millrace run` writes it")
    return {name: version for name, version in found.items() if version is not None}


def _last_within(tables: VersionedTables, name: str, latest: int, position: int) -> int:
    metadata, written_at = partial(tables.metadata, name), partial(tables.written_at, name)
    try:
        return last_version_within(latest, position, TABLES[name].writer, metadata, written_at)
    except LookupError:
        raise _unreadable(name, position) from None


def _unreadable(name: str, position: int) -> MillraceError:
    at = rfc3339(from_micros(position))
    return MillraceError(f"{name} can't be read as of {at} any more", "Give a later position")


def _read(text: str) -> int | None:
    """A position in microseconds; None for the latest."""
    if text == LATEST:
        return None
    try:
        if text.isdecimal():
            return int(text)
        return to_micros(datetime.fromisoformat(text.replace("Z", "+00:00")))
    except ValueError:  # also for more digits than Python reads
        raise MillraceError(
            f"{text!r} is no position",
            "Give a time as 2026-11-02T10:30:00Z, microseconds since 1970, or latest",
        ) from None
