"""Records digests of newly committed files in ops.digests."""

import math
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import DIGESTS
from lakehouse.delta.exclusive import lock_of
from lakehouse.delta.python_writer import append_rows, create_table
from lakehouse.delta.table_properties import default_properties, properties_of
from lakehouse.settings import Settings
from millrace.audit.digests.files import (
    MANIFESTS,
    POINTER,
    FileDigest,
    added_files,
    digest_of,
    finished_manifests,
    folder_of,
    is_checkpoint,
    is_commit,
    live_files,
    log_files,
    logged_version,
    pointed_version,
)
from millrace.audit.digests.own_files import update_sums
from millrace.audit.digests.pruning import Pruner
from millrace.audit.digests.recorded import Key, key_of, read_digests

_METADATA = {"job": "digests"}


class DigestRecorder:
    """Records digests of new files of one home. Use one object per process: it caches the recorded keys.

    Args:
        settings: the settings in force; tables must be local.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._own = folder_of(settings, DIGESTS.name)
        self._pruner = Pruner(settings)
        self._known: set[Key] | None = None
        self._older: dict[Key, int] = {}

    def record(self, seconds: float = math.inf) -> int:
        """Append a row for each file without one. Returns the number of rows.

        Skips files whose size differs from that in their commit, and commits that can't be read.

        Args:
            seconds: time limit; the remaining commits are recorded by the next call.

        Raises:
            MillraceError: if `digests.sums` has been altered.
        """
        deadline = time.monotonic() + seconds
        with lock_of(self._settings.warehouse, DIGESTS.name):
            there = self._there()
            if self._known is None:
                self._older = self._without_commit()
                self._known = self._recorded({*there, *self._older})
            rows = self._new_digests(there, self._known, deadline)
            if rows:
                self._append(rows)
            self._known = (self._known & there) | {key_of(digest) for digest in rows}
            update_sums(self._settings)
            if rows and self._pruner.prune(there):
                update_sums(self._settings)
            return len(rows)

    def _new_digests(self, there: set[Key], known: set[Key], deadline: float) -> list[FileDigest]:
        rows: list[FileDigest] = []
        for key in sorted(there - known):
            if time.monotonic() > deadline:
                return rows
            rows += self._digests(key)
        done = known | {key_of(digest) for digest in rows}
        for key in sorted(self._older):
            if time.monotonic() > deadline:
                return rows
            size = self._older.pop(key)
            rows += self._digest(key, None, size) if key not in done else ()
        return rows

    def _there(self) -> set[Key]:
        """Keys of log files and manifests on disk; data files are found through commits."""
        found = {Key(MANIFESTS, name) for name in finished_manifests(self._settings.home)}
        for name in TABLES:
            if name != DIGESTS.name:
                folder = folder_of(self._settings, name)
                logged = log_files(folder)
                found |= {Key(name, path) for path in logged}
                found |= {Key(name, POINTER, version) for version in _pointed(folder, logged)}
        return found

    def _without_commit(self) -> dict[Key, int]:
        """Live files, with sizes, of tables whose log no longer has its first commits."""
        found: dict[Key, int] = {}
        for name in TABLES:
            folder = folder_of(self._settings, name)
            commits = [logged_version(path) for path in log_files(folder) if is_commit(path)]
            if name != DIGESTS.name and commits and 0 not in commits:
                found |= {Key(name, path): size for path, size in live_files(folder).items()}
        return found

    def _recorded(self, wanted: set[Key]) -> set[Key]:
        if not log_files(self._own):
            return set()
        parts = [self._own / path for path in live_files(self._own)]
        return set(read_digests(parts, wanted).files)

    def _digests(self, key: Key) -> Iterator[FileDigest]:
        """The digest of a file. For a commit, the digests of the data files that it adds come first."""
        version = key.version if key.path == POINTER else logged_version(key.path)
        if is_commit(key.path):
            try:
                added = added_files(folder_of(self._settings, key.table) / key.path)
            except (FileNotFoundError, ValueError):  # removed, or not a commit: the audit reports it
                return
            for path, size in added.items():
                yield from self._digest(Key(key.table, path), version, size)
        yield from self._digest(key, version)

    def _digest(self, key: Key, version: int | None, size: int | None = None) -> Iterator[FileDigest]:
        try:
            read = digest_of(folder_of(self._settings, key.table) / key.path)
        except FileNotFoundError:  # removed by VACUUM, or by log cleanup
            return
        if size is None or read[0] == size:
            yield FileDigest(key.table, key.path, *read, version)

    def _append(self, digests: list[FileDigest]) -> None:
        now = datetime.now(timezone.utc)
        rows = [{**digest._asdict(), "recorded_at": now} for digest in digests]
        defaults = default_properties(self._settings.vacuum_retention, self._settings.feed_retention)
        create_table(self._own, DIGESTS, {**defaults, **properties_of(DIGESTS)})
        append_rows(self._own, DIGESTS, pa.Table.from_pylist(rows, arrow_schema(DIGESTS)), _METADATA)


def _pointed(folder: Path, logged: set[str]) -> Iterator[int]:
    """The checkpoint version in the log's pointer, if that checkpoint exists."""
    version = pointed_version(folder)
    checkpoints = {logged_version(path) for path in logged if is_checkpoint(path)}
    if version is not None and version in checkpoints:
        yield version
