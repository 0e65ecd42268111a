"""Explains the channel of a visit: the rule that applies, and the values that it matches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from folds.records.addresses import read_address
from folds.records.channel_rules import ANY
from folds.records.channels import ChannelRules, Visit, host_of, load_channel_rules


@dataclass(frozen=True)
class Reason:
    """A channel and the rule behind it.

    Args:
        channel: channel of the visit.
        line: line of the rule in conf/channels.yml, from 1.
        rule: text of the rule.
        because: each condition of the rule with the matching value; or that no rule matches.
        visit: values of the visit in the form that rules compare.
    """

    channel: str
    line: int
    rule: str
    because: tuple[str, ...]
    visit: Visit

    def as_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None for missing values."""
        looked_at = {
            "source": self.visit.source or None,
            "medium": self.visit.medium or None,
            "campaign": self.visit.name or None,
            "page_host": host_of(self.visit.url),
            "referrer_host": host_of(self.visit.referrer),
        }
        rule = {"line": self.line, "text": self.rule}
        return {"channel": self.channel, "because": self.because, "rule": rule, "looked_at": looked_at}


def explain_channel(conf: Path, visit: Visit) -> Reason:
    """Find the first rule of conf/channels.yml that matches a visit."""
    rules = load_channel_rules(conf)
    channel, held = rules.classify(visit)
    visit = visit.normalized()
    written = _Written(conf / "channels.yml")
    if held is None:
        return Reason(channel, *written.otherwise(), (_none_holds(rules, visit),), visit)
    number = rules.rules.index(held)
    conditions = written.conditions(number)
    because = tuple(_WORDS[name](meant, rules, visit) for name, meant in conditions.items())
    return Reason(channel, *written.rule(number), because, visit)


class _Written:
    """The rules with their line numbers in the file."""

    def __init__(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        self._lines = text.splitlines()
        self._rules = yaml.safe_load(text)["rules"]
        document: Any = yaml.compose(text)
        self._nodes = {key.value: (key, value) for key, value in document.value}

    def conditions(self, number: int) -> Mapping[str, Any]:
        """Conditions of a rule, by name."""
        return {name: meant for name, meant in self._rules[number].items() if name != "channel"}

    def rule(self, number: int) -> tuple[int, str]:
        """Line and text of a rule."""
        return self._line(self._nodes["rules"][1].value[number])

    def otherwise(self) -> tuple[int, str]:
        """Line and text of the default channel."""
        return self._line(self._nodes["otherwise"][0])

    def _line(self, node: yaml.Node) -> tuple[int, str]:
        line = node.start_mark.line
        return line + 1, self._lines[line].strip().removeprefix("- ")


def _none_holds(rules: ChannelRules, visit: Visit) -> str:
    campaign = "campaign fields that none knows" if visit.has_campaign else "no campaign field"
    return f"none of the {len(rules.rules)} rules holds: {campaign}, and {_no_site(rules, visit)}"


def _no_site(rules: ChannelRules, visit: Visit) -> str:
    if excluded := rules.read_referrer(visit.referrer).excluded:
        return f"a referrer that counts as none: conf/channels.yml excludes {excluded}"
    host = visit.foreign_host
    return f"a referrer's host, {host}, of no site they name" if host else "no referrer from another site"


def _click_id(_names: Any, _rules: ChannelRules, visit: Visit) -> str:
    return f"the address has the click id {read_address(visit.url).click_id_kind}"


def _campaign(_any: Any, _rules: ChannelRules, visit: Visit) -> str:
    fields = {"source": visit.source, "medium": visit.medium, "campaign": visit.name, "id": visit.id}
    named = ", ".join(f"{name} {value}" for name, value in fields.items() if value)
    return f"it has campaign fields: {named}"


def _referrer(site: str, rules: ChannelRules, visit: Visit) -> str:
    host, own = visit.foreign_host, host_of(visit.url)
    match = rules.read_referrer(visit.referrer).site
    if match is None or site == ANY:
        return f"the referrer's host, {host}, is not of the page's site" + (f", {own}" if own else "")
    by = f", as {match.entry}" if "/" in match.entry or match.entry.endswith(".*") else ""
    return f"the referrer's host, {host}, is of the sites called {site}{by}"


_WORDS: dict[str, Callable[[Any, ChannelRules, Visit], str]] = {
    "click_id": _click_id,
    "source_site": lambda site, _, visit: f"the source, {visit.source}, is of the sites called {site}",
    "source": lambda pattern, _, visit: f"the source, {visit.source}, matches {pattern}",
    "medium": lambda pattern, _, visit: f"the medium, {visit.medium}, matches {pattern}",
    "campaign": _campaign,
    "referrer": _referrer,
}
