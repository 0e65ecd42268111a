"""The audit of bytes: compares every live file with the digest recorded after its commit."""

import time
from collections.abc import Callable, Iterator

import polars as pl
from deltalake.exceptions import DeltaError

from lakehouse.contracts import TABLES
from lakehouse.contracts.ops import DIGESTS
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.audit.digests.comparison import Comparison, Digests
from millrace.audit.digests.files import MANIFESTS, POINTER, folder_of, logged_version
from millrace.audit.digests.recorded import Key, RecordedDigests, read_digests
from millrace.audit.digests.sums import read_sums, sums_file
from millrace.audit.digests.table_state import TableState, read_state
from millrace.audit.finding import Finding

_NAMED = 3  # number of files without a digest that are listed
_MEGABYTE = 1e6

Progress = Callable[[int, int], None]
"""Called with bytes read so far, and total bytes."""


def audit_bytes(settings: Settings, progress: Progress = lambda _done, _total: None) -> Iterator[Finding]:
    """Compare each live file of each table, each log and each manifest with its digest. Nothing is recorded.

    Args:
        settings: the settings in force.
        progress: called after each file.

    Yields:
        A finding for each altered or missing file; then one on files without a digest, and the totals.

    Raises:
        MillraceError: if the tables are in a catalog.
    """
    if settings.catalog:
        raise MillraceError(
            "the tables are in a catalog, whose store looks after their files", "Run `millrace audit` alone"
        )
    clock = time.monotonic()
    states = [read_state(name, folder_of(settings, name)) for name in TABLES if name != DIGESTS.name]
    states = [state for state in states if state.folder.is_dir()]
    own = read_state(DIGESTS.name, folder_of(settings, DIGESTS.name))
    total = sum(sum((state.live or {}).values()) for state in (*states, own))
    comparison = Comparison(lambda _size: progress(comparison.size, total))
    yield from _compare_own(settings, comparison, own)
    try:
        recorded = _read_recorded(settings, comparison, own, states)
    except (pl.exceptions.PolarsError, DeltaError, OSError):
        yield Finding(DIGESTS.name, "can't be read", is_right=False)
        recorded = RecordedDigests({}, {})
    for state in states:
        last = recorded.last_versions.get(state.table, -1)
        yield from comparison.compare_table(state, recorded.files, last)
    yield from _compare_manifests(settings, comparison, recorded.files)
    yield from _summary(comparison, time.monotonic() - clock)


def _compare_own(settings: Settings, comparison: Comparison, own: TableState) -> Iterator[Finding]:
    """Compare the files of ops.digests with `digests.sums`, and that file with its own digest."""
    sums = read_sums(settings.warehouse)
    name = sums_file(settings.warehouse).name
    if sums is None or not sums.is_intact:
        if own.logged:
            yield Finding(DIGESTS.name, f"{'missing' if sums is None else 'altered'}: {name}", is_right=False)
        return
    digests = {_key(path, digest.version): digest for path, digest in sums.files.items()}
    listed = {path: digest.size for path, digest in sums.files.items() if _is_data(path)}
    last = max((digest.version or 0 for digest in sums.files.values()), default=-1)
    live = None if own.live is None else {**listed, **own.live}
    yield from comparison.compare_table(own._replace(live=live), digests, last)


def _key(path: str, version: int | None) -> Key:
    return Key(DIGESTS.name, path, version if path == POINTER else None)


def _is_data(path: str) -> bool:
    return path != POINTER and logged_version(path) is None


def _read_recorded(
    settings: Settings, comparison: Comparison, own: TableState, states: list[TableState]
) -> RecordedDigests:
    """The digests of existing files, from those files of ops.digests that are not altered."""
    wanted = {Key(state.table, path) for state in states for path in state.logged | state.stored}
    wanted |= {Key(state.table, path) for state in states for path in state.live or ()}
    sums = read_sums(settings.warehouse)
    known = sums.files if sums and sums.is_intact else own.live or {}
    parts = [path for path in known if _is_data(path) and Key(DIGESTS.name, path) not in comparison.wrong]
    return read_digests((place for path in parts if (place := own.folder / path).exists()), wanted)


def _compare_manifests(settings: Settings, comparison: Comparison, digests: Digests) -> Iterator[Finding]:
    folder = folder_of(settings, MANIFESTS)
    there = {Key(MANIFESTS, file.name) for file in folder.glob("*.json")}
    for key in sorted(there | {key for key in digests if key.table == MANIFESTS}):
        if key in there:
            yield from comparison.compare_file(key, folder / key.path, digests.get(key))
        else:
            yield comparison.finding(key, None, "missing")


def _summary(comparison: Comparison, seconds: float) -> Iterator[Finding]:
    if comparison.unrecorded:
        named = ", ".join(f"{key.table} {key.path}" for key in comparison.unrecorded[:_NAMED])
        more = ", …" if len(comparison.unrecorded) > _NAMED else ""
        yield Finding(
            "without a digest yet",
            f"{len(comparison.unrecorded):,} files, not compared: {named}{more}",
            is_right=True,
        )
    rate = f"{comparison.size / _MEGABYTE:,.1f} MB in {seconds:.1f} s"
    yield Finding("bytes", f"{comparison.files:,} files compared, {rate}", is_right=True)
