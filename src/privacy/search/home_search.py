"""Searches all files of a home for identifiers."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from privacy.search.file_search import FileResult, search_file
from privacy.search.matching.matcher import Matcher
from privacy.search.places import Place, Unread

NAME = "name of the file"
_ROUNDS = 3  # through the folders: files may be written while others are searched

Progress = Callable[[int, int], None]
"""Is called with the bytes searched so far, and the bytes of all files that are known."""


@dataclass
class SearchResult:
    """What was searched, and what was found.

    Args:
        files: number of files.
        size: their bytes.
        places: where identifiers are.
        unread: what could not be searched.
        topics: number of records by topic.
        rows: number of rows by table of a catalog that gives nobody its files.
    """

    files: int = 0
    size: int = 0
    places: list[Place] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    _lines: list[str] = field(default_factory=list, repr=False)

    @property
    def sha256(self) -> str:
        """SHA-256 over names, sizes and digests of all files, a line each, in order of names."""
        return hashlib.sha256("".join(sorted(self._lines)).encode(errors="surrogateescape")).hexdigest()

    @property
    def is_clean(self) -> bool:
        """Whether everything was searched, and nothing was found."""
        return not self.places and not self.unread

    def add(self, name: str, result: FileResult) -> None:
        """Add a file."""
        self.files += 1
        self.size += result.size
        self._lines.append(f"{name}\t{result.size}\t{result.sha256}\n")
        self.places += [
            Place(name, part, encoding, count) for (part, encoding), count in sorted(result.counts.items())
        ]
        if result.problem:
            self.unread.append(Unread(name, result.problem))


def search_home(home: Path, identifiers: Iterable[str], progress: Progress | None = None) -> SearchResult:
    """Search the files of a home: those that are there, and those that are written while it goes on.

    Args:
        home: the folder of all local state.
        identifiers: texts to find.
        progress: called now and then.
    """
    matcher, result = Matcher(identifiers), SearchResult()
    seen: set[Path] = set()
    done = total = 0

    def advance(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, max(done, total))

    for _ in range(_ROUNDS):
        new = [each for each in files_of(home, result.unread) if each not in seen]
        total += sum(map(_size, new))
        for path in new:
            _search_one(matcher, home, path, result, advance)
        seen.update(new)
    late = (path for path in files_of(home, result.unread) if path not in seen)
    result.unread += [
        Unread(str(path.relative_to(home)), "written while the search went on") for path in late
    ]
    result.unread = sorted(set(result.unread))
    result.places.sort()
    return result


def files_of(home: Path, unread: list[Unread]) -> Iterator[Path]:
    """All regular files, also behind links to folders, in order of names; folders that can't be read."""
    waiting, entered = [home], set[tuple[int, int]]()
    while waiting:
        folder = waiting.pop()
        try:
            own = folder.stat()
            if (own.st_dev, own.st_ino) in entered:
                continue
            entered.add((own.st_dev, own.st_ino))
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except FileNotFoundError:
            continue  # removed by a job
        except OSError as error:
            unread.append(Unread(str(folder.relative_to(home)), error.strerror or str(error)))
            continue
        waiting += [Path(entry) for entry in entries if entry.is_dir()]
        yield from (Path(entry) for entry in entries if entry.is_file())


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _search_one(
    matcher: Matcher, home: Path, path: Path, result: SearchResult, advance: Callable[[int], None]
) -> None:
    name = str(path.relative_to(home))
    found = Counter(match.encoding for match in matcher.find_in(os.fsencode(name)) if match.is_whole)
    try:
        result.add(name, search_file(matcher, path, advance))
    except FileNotFoundError:
        return  # removed by a job: what it had is gone, or in a new file
    except OSError as error:
        result.unread.append(Unread(name, error.strerror or str(error)))
    result.places += [Place(name, NAME, encoding, count) for encoding, count in found.items()]
