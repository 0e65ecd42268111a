"""Groups of small files that are read as one, so that a lookup does not cost more with every commit."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.delta.copy_on_write import MAX_ROWS_PER_SMALL_FILE, File

FILES_PER_GROUP = 16
_MAX_BYTES = 4 * 1024 * 1024  # of a small file: an array of strings holds 2 GiB


@dataclass(frozen=True)
class FileGroup:
    """Files of one partition, or a single file.

    Args:
        paths: of the files, in the table's folder.
        bounds: number of rows, partition and statistics of all of them, in the form of a single file; see
            `lakehouse.delta.table_log.files_of`.
    """

    paths: tuple[str, ...]
    bounds: File

    @classmethod
    def of(cls, files: Sequence[File]) -> "FileGroup":
        """A group of files."""
        if len(files) == 1:
            return cls((files[0]["path"],), files[0])
        bounds = dict(files[0])
        for name in bounds:
            values = [file[name] for file in files]
            if name.startswith(("min.", "max.")):
                bounds[name] = None if None in values else (min if name.startswith("min.") else max)(values)
        bounds["num_records"] = sum(file["num_records"] for file in files)
        return cls(tuple(file["path"] for file in files), bounds)


class FileGroups:
    """The groups of a table's files. A group does not change until one of its files leaves the table.

    The newest small file of a partition is in no group: groups join cached columns, and it is not cached yet.
    """

    def __init__(self) -> None:
        self._groups: list[FileGroup] = []
        self._formed_of: Sequence[File] = ()

    def form(self, files: Sequence[File]) -> tuple[list[FileGroup], list[FileGroup]]:
        """Group small files of the latest version. Returns the new groups and the dissolved ones."""
        if files is self._formed_of:
            return [], []
        self._formed_of = files
        before = self._groups
        self._groups = _whole(before, files)
        dissolved = [group for group in before if group not in self._groups]
        small = defaultdict[tuple[object, ...], list[File]](list)
        for file in sorted(_without(self._groups, files), key=lambda file: file["modification_time"]):
            if file["num_records"] < MAX_ROWS_PER_SMALL_FILE and file["size_bytes"] < _MAX_BYTES:
                partition = tuple(value for name, value in file.items() if name.startswith("partition."))
                small[partition].append(file)
        new = [
            FileGroup.of(theirs[first : first + FILES_PER_GROUP])
            for theirs in small.values()
            for first in range(0, len(theirs) - FILES_PER_GROUP, FILES_PER_GROUP)  # not the newest
        ]
        self._groups += new
        return new, dissolved

    def of_version(self, files: Sequence[File]) -> list[FileGroup]:
        """All files of a version: complete groups, and a group of one for each other file."""
        whole = _whole(self._groups, files)
        return whole + [FileGroup.of([file]) for file in _without(whole, files)]


def _whole(groups: Sequence[FileGroup], files: Sequence[File]) -> list[FileGroup]:
    """The groups whose files are all among the given files."""
    there = {file["path"] for file in files}
    return [group for group in groups if there.issuperset(group.paths)]


def _without(groups: Sequence[FileGroup], files: Sequence[File]) -> list[File]:
    """The files that are in none of the groups."""
    grouped = {path for group in groups for path in group.paths}
    return [file for file in files if file["path"] not in grouped]
