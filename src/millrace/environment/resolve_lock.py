"""Resolves the lock of jars from the names and versions in ivy.xml."""

import tempfile
from pathlib import Path

from millrace.environment.ivy import RESOLVE_FILE, retrieve
from millrace.environment.jar_lock import LOCK_FILE, LockedJar, sha256_of, write_lock

_PATTERN = "[conf]/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"


def relock() -> int:
    """Resolve ivy.xml with dependencies, and write the lock.

    Returns:
        The number of jars in the new lock.

    Raises:
        MillraceError: if a jar can't be downloaded.
    """
    with tempfile.TemporaryDirectory(prefix="millrace-relock-") as scratch:
        folder = Path(scratch)
        for _ in retrieve(RESOLVE_FILE, None, f"{folder}/out/{_PATTERN}", folder / "downloads"):
            pass
        jars = [_locked(file, folder / "out") for file in sorted((folder / "out").rglob("*.jar"))]
    write_lock(jars, LOCK_FILE)
    return len(jars)


def _locked(file: Path, root: Path) -> LockedJar:
    role, organisation, name, revision = file.relative_to(root).parts[:4]
    return LockedJar(role, sha256_of(file), file.stat().st_size, organisation, name, revision)
