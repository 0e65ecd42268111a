"""Digests of the files of ops.digests itself, in `digests.sums` next to the table."""

from pathlib import Path

from lakehouse.contracts.ops import DIGESTS
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.audit.digests.files import (
    POINTER,
    FileDigest,
    added_files,
    digest_of,
    folder_of,
    is_commit,
    live_files,
    log_files,
    logged_version,
    pointed_version,
)
from millrace.audit.digests.sums import Sums, read_sums, sums_file, write_sums


def update_sums(settings: Settings) -> None:
    """Update `digests.sums` from the table. Lines of existing files are not changed.

    Raises:
        MillraceError: if `digests.sums` has been altered; the file is not changed.
    """
    folder = folder_of(settings, DIGESTS.name)
    logged = log_files(folder)
    if not logged:
        return
    known = read_sums(settings.warehouse) or Sums(is_intact=True, files={})
    if not known.is_intact:
        raise MillraceError(
            f"{sums_file(settings.warehouse)} has been altered",
            "See `millrace audit --bytes`; remove the file to have it written from the files as they are",
        )
    files = _files(folder, logged, known.files)
    if files != known.files:
        write_sums(settings.warehouse, files.values())


def _files(folder: Path, logged: set[str], known: dict[str, FileDigest]) -> dict[str, FileDigest]:
    """Digests by path: known ones, and those of new files."""
    versions: dict[str, int | None] = {path: logged_version(path) for path in logged}
    for path in sorted(path for path in logged - known.keys() if is_commit(path)):
        versions |= dict.fromkeys(added_files(folder / path), logged_version(path))
    wanted = logged | live_files(folder).keys()
    files = {path: known[path] for path in wanted & known.keys()}
    if (pointed := pointed_version(folder)) is not None:
        versions[POINTER] = pointed
        wanted.add(POINTER)
        if POINTER in known and known[POINTER].version == pointed:
            files[POINTER] = known[POINTER]
    for path in wanted - files.keys():
        files[path] = FileDigest(DIGESTS.name, path, *digest_of(folder / path), versions.get(path))
    return files
