"""Test oracle for kinds of sites: compares a host with every entry of conf/, the longest match wins.

Reads the same data as `src/`, but shares no code with it.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kit.oracle_hosts import is_same_site, registered_domain

_CONF = Path(__file__).parents[2] / "conf"
_TOLD: dict[str, Any] = yaml.safe_load((_CONF / "channels.yml").read_text(encoding="utf-8"))
_LIST: dict[str, Any] = yaml.safe_load((_CONF / "referrers.yml").read_text(encoding="utf-8"))


class Entry(NamedTuple):
    """A host entry of conf/, expanded for one country ending."""

    kind: str
    host: str
    below: str
    alone: bool
    is_exact: bool
    is_own: bool


def _entries(hosts: dict[str, list[str]], *, is_own: bool) -> Iterator[Entry]:
    for kind, each in hosts.items():
        for entry in each:
            name, _, below = entry.partition("/")
            for ending in _TOLD["country_endings"] if "{}" in name else [""]:
                host = name.removeprefix("*.").replace("{}", ending)
                yield Entry(kind, host, below, name.startswith("*."), "{}" not in name, is_own)


def is_excluded(host: str, path: str) -> bool:
    """Whether a host is excluded as a referrer."""
    is_own = any(is_same_site(host, own) for own in _TOLD["own_hosts"])
    return is_own or any(_matching(_EXCLUDED, host, path))


def kind_of_name(name: str) -> str | None:
    """The kind of site with a name."""
    return next((kind for kind, site in _TOLD["sites"].items() if name in site.get("names", ())), None)


_SITES = [
    *_entries({kind: site["hosts"] for kind, site in _TOLD["sites"].items()}, is_own=True),
    *_entries(_LIST["hosts"], is_own=False),
]
_EXCLUDED = list(_entries({"": [*_TOLD["excluded_referrers"], *_TOLD["own_hosts"]]}, is_own=True))


def site_of(host: str, path: str) -> str | None:
    """The kind of site of a host and path: the longest match, entries before labels of equal length."""
    found = [
        (entry.host.count("."), len(entry.below), entry.alone, 1, entry.is_exact, entry.is_own, entry.kind)
        for entry in _matching(_SITES, host, path)
    ]
    found += [
        (length, 0, False, 0, True, True, kind)
        for kind, site in _TOLD["sites"].items()
        for length in _by_label(site.get("labels", ()), host)
    ]
    return max(found)[-1] if found else None


def _matching(entries: list[Entry], host: str, path: str) -> Iterator[Entry]:
    for entry in entries:
        if not host.endswith(entry.host):
            continue
        in_host = host.endswith("." + entry.host) or (host == entry.host and not entry.alone)
        if in_host and (not entry.below or (path + "/").startswith("/" + entry.below + "/")):
            yield entry


def _by_label(patterns: Iterable[str], host: str) -> Iterator[int]:
    labels = host.split(".")
    for number, label in enumerate(labels):
        above = ".".join(labels[number + 1 :])
        if registered_domain(above) and any(re.fullmatch(each, label) for each in patterns):
            yield above.count(".") + 1
