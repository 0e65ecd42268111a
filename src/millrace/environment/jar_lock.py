"""The lock of jars, and their paths in the cache."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LOCK_FILE = Path(__file__).with_name("jars.lock")
_HEADER = "# role sha256 size coordinates; written by `make lock-jars` from ivy.xml\n"


@dataclass(frozen=True)
class LockedJar:
    """A jar of the lock.

    Attributes:
        role: which program uses it, `spark` or `broker`.
        sha256: SHA-256 of the file, in hexadecimal.
        size: size of the file in bytes.
        organisation: first part of its coordinates.
        name: second part of its coordinates.
        revision: third part of its coordinates.
    """

    role: str
    sha256: str
    size: int
    organisation: str
    name: str
    revision: str

    @property
    def file_name(self) -> str:
        """The jar's file name."""
        return f"{self.name}-{self.revision}.jar"

    @property
    def path(self) -> Path:
        """Its path in the cache."""
        return cache_folder() / self.role / self.file_name


def cache_folder() -> Path:
    """The cache of jars: MILLRACE_CACHE, else ~/.cache/millrace/jars."""
    named = os.environ.get("MILLRACE_CACHE")
    return Path(named).expanduser().resolve() if named else Path.home() / ".cache" / "millrace" / "jars"


def read_lock(file: Path = LOCK_FILE) -> list[LockedJar]:
    """The jars of the lock, in its order."""
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines() if line[:1] != "#")
    return [LockedJar(role, sha256, int(size), *at.split(":")) for role, sha256, size, at in lines]


def write_lock(jars: Iterable[LockedJar], file: Path = LOCK_FILE) -> None:
    """Write a lock in sorted order, so that diffs are minimal."""
    lines = sorted(
        f"{jar.role} {jar.sha256} {jar.size} {jar.organisation}:{jar.name}:{jar.revision}\n" for jar in jars
    )
    by_coordinates = sorted(lines, key=lambda line: (line.split()[0], line.split()[3]))
    file.write_text(_HEADER + "".join(by_coordinates), encoding="utf-8")


def sha256_of(file: Path) -> str:
    """The checksum of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
