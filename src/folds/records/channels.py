"""Channels by rules as data: conf/channels.yml, read and applied."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:@]+)", re.IGNORECASE)
_ANY = "any"
BLANKS = " \t\r\n"  # around a campaign's fields, they don't count
IN_QUERY = r"^[^?#]*\?(?:[^#]*?&)??"  # up to a parameter's name: a query ends at `#`


@dataclass(frozen=True)
class Site:
    """Sites that belong together: the names a campaign's source gives them, and their hosts.

    Both are patterns that match the whole, in lower case.
    """

    source: str
    host: str


@dataclass(frozen=True)
class Rule:
    """One rule: a channel, and the conditions that must all hold; None where there is none.

    `source`, `medium` and `referrer_host` are patterns for the whole of what they are held against;
    `referrer` without a host pattern asks for any page on another host.
    """

    channel: str
    click_id: str | None
    source: str | None
    medium: str | None
    campaign: bool
    referrer: bool
    referrer_host: str | None

    def holds(self, visit: "Visit") -> bool:
        """Whether a visit meets every condition."""
        return (
            (self.click_id is None or re.search(self.click_id, visit.url) is not None)
            and _matches(self.source, visit.source)
            and _matches(self.medium, visit.medium)
            and (not self.campaign or visit.has_campaign)
            and (not self.referrer or visit.foreign_host is not None)
            and _matches(self.referrer_host, visit.foreign_host or "")
        )


@dataclass(frozen=True)
class Visit:
    """What a channel is read from. Empty text where something is missing."""

    source: str = ""
    medium: str = ""
    name: str = ""
    url: str = ""
    referrer: str = ""

    @property
    def has_campaign(self) -> bool:
        """Whether any campaign field is there."""
        return bool(self.source or self.medium or self.name)

    @property
    def foreign_host(self) -> str | None:
        """The referrer's host, if it isn't the page's own."""
        host = host_of(self.referrer)
        return host if host != host_of(self.url) else None

    def normalized(self) -> "Visit":
        """The same as rules compare it: source and medium in lower case, no white space around fields."""
        return Visit(
            self.source.strip(BLANKS).lower(),
            self.medium.strip(BLANKS).lower(),
            self.name.strip(BLANKS),
            self.url,
            self.referrer,
        )


@dataclass(frozen=True)
class ChannelRules:
    """The rules in order, and the channel where none holds."""

    rules: tuple[Rule, ...]
    otherwise: str

    def classify(self, visit: Visit) -> tuple[str, Rule | None]:
        """The channel of a visit, and the rule that says so."""
        normal = visit.normalized()
        held = next((rule for rule in self.rules if rule.holds(normal)), None)
        return (held.channel if held else self.otherwise), held


def host_of(address: str) -> str | None:
    """The host of an address: lower case, without port and `www.`; None if it names none."""
    found = _HOST.match(address)
    return found.group(1).lower().removeprefix("www.") if found else None


def load_channel_rules(conf: Path) -> ChannelRules:
    """Read conf/channels.yml."""
    document = yaml.safe_load((conf / "channels.yml").read_text())
    sites = {name: _site(site) for name, site in document["sites"].items()}
    rules = tuple(_rule(rule, sites) for rule in document["rules"])
    return ChannelRules(rules, document["otherwise"])


def _rule(rule: Mapping[str, Any], sites: Mapping[str, Site]) -> Rule:
    referrer = rule.get("referrer")
    click_ids = rule.get("click_id")
    return Rule(
        channel=rule["channel"],
        click_id=f"{IN_QUERY}(?:{'|'.join(click_ids)})=[^&#]" if click_ids else None,
        source=sites[rule["source_site"]].source if "source_site" in rule else rule.get("source"),
        medium=rule.get("medium"),
        campaign=bool(rule.get("campaign")),
        referrer=referrer is not None,
        referrer_host=sites[referrer].host if referrer not in (None, _ANY) else None,
    )


def _site(site: Mapping[str, list[str]]) -> Site:
    host = f"(?:.*\\.)?(?:{'|'.join(_host_pattern(host) for host in site['hosts'])})"
    return Site(source=f"{'|'.join(map(re.escape, site['names']))}|{host}", host=host)


def _host_pattern(host: str) -> str:
    return re.escape(host).replace(r"\*", r"[a-z]+(?:\.[a-z]+)?")


def _matches(pattern: str | None, text: str) -> bool:
    return pattern is None or re.fullmatch(pattern, text) is not None
