"""The immutable files of tables and manifests on disk."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from lakehouse.settings import Settings
from millrace.audit.digests.vector_files import is_vector_file, vector_files

LOG = "_delta_log"
POINTER = f"{LOG}/_last_checkpoint"
"""The only file of a Delta log that is overwritten: it names the latest checkpoint."""

MANIFESTS = "manifests"
"""Stands in for the table name in digests of clients' manifests."""

_OF_LOG = re.compile(r"(\d{20})\.(?:[\w-]+\.)*(?:json|crc|parquet)")
_COMMIT = re.compile(rf"{LOG}/\d{{20}}\.json")
_CHUNK = 1 << 20


class FileDigest(NamedTuple):
    """The recorded digest of a file.

    Args:
        table: its table, or `MANIFESTS`.
        path: path relative to the table's folder.
        size: bytes.
        sha256: hexadecimal.
        version: version of the commit that added it, or of the log file; None if unknown, or a manifest.
    """

    table: str
    path: str
    size: int
    sha256: str
    version: int | None


def folder_of(settings: Settings, table: str) -> Path:
    """The folder of a table, or that of manifests."""
    return settings.home / MANIFESTS if table == MANIFESTS else settings.warehouse.joinpath(*table.split("."))


def digest_of(file: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file."""
    digest, size = hashlib.sha256(), 0
    with file.open("rb", buffering=0) as content:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


def log_files(folder: Path) -> set[str]:
    """Paths of the files in a table's log, without `POINTER`; empty without a log."""
    try:
        names = os.listdir(folder / LOG)  # noqa: PTH208 - a log has thousands of files: names are enough
    except FileNotFoundError:
        return set()
    return {f"{LOG}/{name}" for name in names if _OF_LOG.fullmatch(name)}


def is_commit(path: str) -> bool:
    """Whether a file of a log is a commit."""
    return _COMMIT.fullmatch(path) is not None


def is_checkpoint(path: str) -> bool:
    """Whether a file of a log is a checkpoint or a part of one."""
    return path.endswith(".parquet") and ".checkpoint." in path


def logged_version(path: str) -> int | None:
    """The version in a log file's name; None for other files."""
    found = _OF_LOG.fullmatch(path.removeprefix(f"{LOG}/"))
    return int(found[1]) if found else None


def added_files(commit: Path) -> dict[str, int | None]:
    """The data files that a commit adds, with their sizes if the commit has them.

    An `add` with a deletion vector names a file that an earlier commit has added. The vector's file is new.

    Raises:
        ValueError: if the file can't be parsed as a commit.
    """
    found: dict[str, int | None] = {}
    for line in commit.read_bytes().splitlines():
        if not line.startswith((b'{"add"', b'{"cdc"')):
            json.loads(line)
            continue
        (action,) = json.loads(line).values()
        try:
            if action.get("deletionVector"):
                found |= dict.fromkeys(vector_files(action["deletionVector"]))
            else:
                found[unquote(action["path"])] = int(action["size"])
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"{commit} has an action without path or size") from error
    return found


def pointed_version(folder: Path) -> int | None:
    """The checkpoint version in `POINTER`; None if the file is missing or can't be parsed."""
    try:
        return int(json.loads((folder / POINTER).read_bytes())["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def data_files(folder: Path) -> Iterator[str]:
    """The data files in a table's folder, of any version, and files of deletion vectors."""
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each != LOG and not each.startswith(".")]
        inside = Path(place).relative_to(folder)
        for name in names:
            if is_vector_file(name) or (name.endswith(".parquet") and name[0] != "."):
                yield str(inside / name)


def live_files(folder: Path) -> dict[str, int]:
    """The data files of a table's latest version, with the sizes in its log.

    Raises:
        DeltaError: if the log can't be read.
    """
    import pyarrow as pa
    from deltalake import DeltaTable

    actions = pa.table(DeltaTable(folder).get_add_actions())
    paths, sizes = (actions[name].to_pylist() for name in ("path", "size_bytes"))
    return dict(zip(map(unquote, paths), sizes, strict=True))


def finished_manifests(home: Path) -> Iterator[str]:
    """Names of finished manifests: those with an end time, which clients no longer change."""
    for file in sorted((home / MANIFESTS).glob("*.json")):
        try:
            is_finished = json.loads(file.read_bytes())["ended_at"] is not None
        except (ValueError, KeyError, TypeError):
            continue
        if is_finished:
            yield file.name
