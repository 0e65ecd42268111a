"""The file `digests.sums`: digests of the files of ops.digests, with a digest of its own."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lakehouse.contracts.ops import DIGESTS
from lakehouse.files import replace_file
from millrace.audit.digests.files import FileDigest

NAME = "digests.sums"
_UNKNOWN = "-"


class Sums(NamedTuple):
    """Content of `digests.sums`.

    Args:
        is_intact: whether the other lines match the digest in the first line.
        files: digests by path; empty if the file is not intact.
    """

    is_intact: bool
    files: dict[str, FileDigest]


def sums_file(warehouse: Path) -> Path:
    """Path of `digests.sums`."""
    return warehouse / DIGESTS.layer / NAME


def read_sums(warehouse: Path) -> Sums | None:
    """Read the file; None if there is none."""
    try:
        first, _, lines = sums_file(warehouse).read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if hashlib.sha256(lines).hexdigest().encode() != first:
        return Sums(is_intact=False, files={})
    return Sums(is_intact=True, files={each.path: each for each in map(_parse, lines.decode().splitlines())})


def write_sums(warehouse: Path, files: Iterable[FileDigest]) -> None:
    """Write the file atomically."""
    lines = "".join(
        f"{each.sha256} {each.size} {_UNKNOWN if each.version is None else each.version} {each.path}\n"
        for each in sorted(files, key=lambda each: each.path)
    ).encode()
    replace_file(sums_file(warehouse), hashlib.sha256(lines).hexdigest().encode() + b"\n" + lines)


def _parse(line: str) -> FileDigest:
    sha256, size, version, path = line.split(" ", 3)
    return FileDigest(DIGESTS.name, path, int(size), sha256, None if version == _UNKNOWN else int(version))
