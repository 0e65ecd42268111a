"""Compares files with their recorded SHA-256 digests."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millrace.audit.digests.files import (
    LOG,
    POINTER,
    FileDigest,
    added_files,
    digest_of,
    is_checkpoint,
    is_commit,
    log_files,
    logged_version,
    pointed_version,
)
from millrace.audit.digests.recorded import Key
from millrace.audit.digests.table_state import TableState, is_live, missing_commits, version_of
from millrace.audit.digests.vector_files import is_vector_file
from millrace.audit.finding import Finding

Advance = Callable[[int], None]
Digests = Mapping[Key, FileDigest]


@dataclass
class Comparison:
    """Compares files with their digests, and counts files and bytes.

    Args:
        advance: called with the size of each file that was read.

    Attributes:
        files: number of files that were read.
        size: their total bytes.
        unrecorded: files without a digest.
        wrong: files that are altered or missing.
    """

    advance: Advance = lambda _size: None
    files: int = 0
    size: int = 0
    unrecorded: list[Key] = field(default_factory=list)
    wrong: set[Key] = field(default_factory=set)

    def compare_table(self, state: TableState, digests: Digests, last_recorded: int) -> Iterator[Finding]:
        """Compare the Delta log of a table and its live files.

        An altered log does not show reliably which files are live. In that case all data files on disk with
        a digest are compared.

        Args:
            state: the table.
            digests: digests of files, of any table.
            last_recorded: the last commit with a recorded file.

        Yields:
            A finding for each file that is altered or missing.
        """
        found = [self._missing_commit(state, version) for version in missing_commits(state, last_recorded)]
        for path in sorted(state.logged):
            found += self._compare_logged(state, path, digests)
        found += self._compare_pointer(state, digests)
        yield from found
        recorded = {path: None for path in state.stored if Key(state.table, path) in digests}
        if state.live is not None and not found:
            vectors = {path: None for path in recorded if is_vector_file(path)}
            yield from self._compare_data(state, {**state.live, **vectors}, digests)
            return
        yield from self._compare_data(state, recorded, digests)
        if not found:
            yield Finding(state.table, "its log can't be read", is_right=False)

    def compare_file(self, key: Key, file: Path, digest: FileDigest | None) -> Iterator[Finding]:
        """Compare one file with its digest. A file that was removed after listing is skipped."""
        if digest is None:
            self.unrecorded.append(key)
            return
        try:
            size, sha256 = digest_of(file)
        except FileNotFoundError:
            return
        self.files += 1
        self.size += size
        self.advance(size)
        if (size, sha256) != (digest.size, digest.sha256):
            yield self.finding(key, digest.version, "altered")

    def finding(self, key: Key, version: int | None, what: str) -> Finding:
        """The finding for a wrong file, with table, commit and path."""
        self.wrong.add(key)
        commit = "" if version is None else f", commit {version}"
        return Finding(f"{key.table}{commit}", f"{what}: {key.path}", is_right=False)

    def _missing_commit(self, state: TableState, version: int) -> Finding:
        return self.finding(Key(state.table, f"{LOG}/{version:020}.json"), version, "missing")

    def _compare_logged(self, state: TableState, path: str, digests: Digests) -> Iterator[Finding]:
        key, file = Key(state.table, path), state.folder / path
        if key not in digests and is_commit(path) and not _is_readable(file):
            yield self.finding(key, logged_version(path), "altered before its digest was recorded")
        else:
            yield from self.compare_file(key, file, digests.get(key))

    def _compare_pointer(self, state: TableState, digests: Digests) -> Iterator[Finding]:
        """Compare `_last_checkpoint`, which is overwritten, with the digest of its checkpoint version."""
        if not (state.folder / POINTER).exists():
            return
        version = pointed_version(state.folder)
        key = Key(state.table, POINTER, version)
        known = [each.version or 0 for each in digests if each[:2] == key[:2]]
        if version is None or (key not in digests and not _has_checkpoint(state, version)):
            found = [self.finding(key, max(known, default=None), "altered")]
        else:
            found = list(self.compare_file(key, state.folder / POINTER, digests.get(key)))
        if pointed_version(state.folder) == version:  # otherwise it was overwritten in between
            yield from found

    def _compare_data(
        self, state: TableState, live: Mapping[str, int | None], digests: Digests
    ) -> Iterator[Finding]:
        for path, size in sorted(live.items()):
            key, file = Key(state.table, path), state.folder / path
            digest = digests.get(key)
            version = digest.version if digest else None
            if not file.exists():
                if is_live(state, path):  # otherwise VACUUM removed it after a later version
                    yield self.finding(key, version or version_of(state, path), "missing")
            elif digest is None and size is not None and file.stat().st_size != size:
                yield self.finding(key, version_of(state, path), "size differs from that in its commit")
            else:
                yield from self.compare_file(key, file, digest)


def _is_readable(commit: Path) -> bool:
    try:
        added_files(commit)
    except ValueError:
        return False
    except FileNotFoundError:  # removed after listing
        return True
    return True


def _has_checkpoint(state: TableState, version: int) -> bool:
    return any(is_checkpoint(path) and logged_version(path) == version for path in log_files(state.folder))
