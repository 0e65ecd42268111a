"""Converts Matomo's list of referrers' hosts, which is public domain (CC0), to the list in conf/."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError

FILE = "referrers.yml"
KINDS = {"ai": "AIAssistants.yml", "social": "Socials.yml", "search": "SearchEngines.yml"}
"""Matomo's file by kind of site. A host in two files gets the kind that comes first here."""

_COUNTRY = "{}"
_ENTRY = re.compile(r"[a-z0-9_-]+(?:\.(?:[a-z0-9_-]+|\{\}))+(?:/\S*)?")
_HEAD = """\
# Hosts of AI assistants, social sites and search engines. Made by `millrace referrers`, which takes a newer
# list. Changes by hand go into channels.yml, which adds to this and overrides it.
# An entry is a host with its subdomains, or a part of it (host/path); `{{}}` is the ending of a country.
source: https://github.com/matomo-org/searchengine-and-social-list
licence: CC0-1.0
commit: '{commit}'
date: '{date}'
hosts:
"""


def convert(folder: Path) -> dict[str, list[str]]:
    """The distinct hosts in a copy of the list, by kind of site, sorted.

    Args:
        folder: folder with the files of `KINDS`.

    Raises:
        MillraceError: if a file is missing, or has an entry that is not a host.
    """
    found: dict[str, list[str]] = {}
    taken: set[str] = set()
    for kind, name in KINDS.items():
        entries = {_entry(url, name) for url in _urls(_read(folder / name))}
        found[kind] = sorted(entries - taken)
        taken |= entries
    return found


def render(hosts: dict[str, list[str]], commit: str, date: str) -> str:
    """The text of the file in conf/, with one host per line, so that diffs show the changes."""
    lines = [_HEAD.format(commit=commit, date=date)]
    for kind, entries in hosts.items():
        lines.append(f"  {kind}:\n")
        lines += [f"    - '{entry}'\n" if _COUNTRY in entry else f"    - {entry}\n" for entry in entries]
    return "".join(lines)


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise MillraceError(
            f"{file} is not there", "Name a folder with a copy of matomo-org/searchengine-and-social-list"
        )
    return read_yaml(file)


def _urls(document: dict[str, Any]) -> Iterator[str]:
    """The addresses of a site: under `urls` for search engines, a plain list for other sites."""
    for site in document.values():
        for item in site or ():
            yield from item.get("urls", ()) if isinstance(item, dict) else [item]


def _entry(url: str, file: str) -> str:
    """An entry for conf/: the host without `www.` and without a country prefix."""
    entry = str(url).strip().lower().removeprefix("android-app//").rstrip("/")
    entry = entry.rpartition(f"{_COUNTRY}.")[2].removeprefix("www.")
    if not _ENTRY.fullmatch(entry):
        raise MillraceError(f"{file}: {url} is no host", "Correct it in the copy, or leave it out")
    return entry
