"""Sites by kind (search, social, email): the longest entry that matches a host gives its kind."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from folds.records.hosts import (
    MAX_HOST,
    domains_of,
    host_and_path,
    is_registrable,
    normal_host,
    registrable_domain,
)

_COUNTRY = ".{}"
_SUBDOMAINS = "*."


class Match(NamedTuple):
    """The kind of a site, and the entry that matched."""

    kind: str
    entry: str


@dataclass(frozen=True)
class Sites:
    """Kinds of sites by entry.

    Args:
        entries: `google.com` matches the host and its subdomains, `*.google.com` only its subdomains,
            `x.com/i/grok` pages below that path, `google.{}` the host with any country ending.
        labels: kind -> pattern for one label of a host, left of the registrable domain.
        endings: values of `{}`: `de`, `co.uk`.
        names: names of sites in a campaign's source that are not hosts: `google`.
    """

    entries: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    endings: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without cached properties."""
        return Sites, (self.entries, self.labels, self.endings, self.names)

    def find(self, host: str, path: str = "") -> Match | None:
        """The longest entry that matches a host, or a host and path; None if none does."""
        if len(host) > MAX_HOST:
            return None
        for domain in domains_of(host):
            keys = self._keys(self._forms(domain), path, is_whole=domain is host)
            entry = next((key for key in keys if key in self.entries), None)
            if entry is not None:
                return Match(self.entries[entry], entry)
            if (by_label := self._by_label(domain)) is not None:
                return by_label
        return None

    def find_source(self, source: str) -> Match | None:
        """Find the site that a campaign's source names, by name or as a host.

        Args:
            source: in lower case.
        """
        if (kind := self.names.get(source)) is not None:
            return Match(kind, source)
        host, _, path = source.partition("/")
        host = normal_host(host)
        return self.find(host, f"/{path}") if "." in host else None

    def _forms(self, domain: str) -> list[str]:
        """Forms of a domain in entries: as it is, and with `{}` instead of its country ending."""
        name, _, ending = domain.rpartition(".")
        before, _, second = name.rpartition(".")
        if before and f"{second}.{ending}" in self.endings:
            return [domain, before + _COUNTRY]
        return [domain, name + _COUNTRY] if name and ending in self.endings else [domain]

    def _keys(self, forms: list[str], path: str, *, is_whole: bool) -> Iterator[str]:
        """Yield the entries that would match, longest first."""
        for form in forms:
            if depth := self._depths.get(form):
                parts = path.split("/", depth + 1)[: depth + 1]
                yield from (form + "/".join(parts[:length]) for length in range(len(parts), 1, -1))
        if not is_whole:
            yield from (_SUBDOMAINS + form for form in forms)
        yield from forms

    def _by_label(self, domain: str) -> Match | None:
        label, _, above = domain.partition(".")
        if is_registrable(above):
            for kind, pattern in self.labels.items():
                if re.fullmatch(pattern, label):
                    return Match(kind, f"{label}.*")
        return None

    @cached_property
    def _depths(self) -> dict[str, int]:
        """Maximum depth of the paths in entries, by host."""
        depths: dict[str, int] = {}
        for host, slash, path in (entry.partition("/") for entry in self.entries):
            if slash:
                depths[host] = max(depths.get(host, 0), path.count("/") + 1)
        return depths


NO_SITES = Sites({})


def normal_entry(entry: str) -> str | None:
    """An entry with its host as in `normal_host`; None if it has no host.

    Args:
        entry: as people write it: also a whole address, or with a port.
    """
    text = entry.strip()
    form = _SUBDOMAINS if text.startswith(_SUBDOMAINS) else ""
    text = text.removeprefix(_SUBDOMAINS)
    host, path = host_and_path(text if "://" in text else f"https://{text}")
    return None if host is None else form + host + path.rstrip("/")


def site_entry(entry: str) -> str:
    """The entry of the whole site that an entry is of: its registrable domain. One with a path stays.

    Args:
        entry: as `normal_entry` returns it.
    """
    if "/" in entry:
        return entry
    name, country, _ = entry.removeprefix(_SUBDOMAINS).partition(_COUNTRY)
    if country:
        return registrable_domain(f"{name}.com").removesuffix(".com") + _COUNTRY
    return registrable_domain(name)
