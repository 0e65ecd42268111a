"""Validation of conf/channels.yml, and its precedence over conf/referrers.yml."""

from pathlib import Path

import pytest
import yaml

from folds.records.channels import ChannelRules, Visit, load_channel_rules
from kit.parser import CONF
from lakehouse.errors import MillraceError

SHOP = "https://shop.example/"
RULES = """
rules:
  - {channel: Organic Search, referrer: search}
  - {channel: Organic Social, referrer: social}
  - {channel: Referral, referrer: any}
otherwise: Direct
"""
SITES = "sites: {search: {hosts: [a.com]}, social: {}}"


def load(folder: Path, text: str, listed: str | None = None) -> ChannelRules:
    (folder / "channels.yml").write_text(text)
    if listed is not None:
        (folder / "referrers.yml").write_text(listed)
    return load_channel_rules(folder)


def channel(rules: ChannelRules, referrer: str) -> str:
    return rules.classify(Visit(url=SHOP, referrer=referrer))[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sites: {}" + RULES, "channels.yml: Organic Search: no site is called search"),
        (
            "sites: {search: {hosts: [a.com]}, social: {hosts: [a.com]}}" + RULES,
            "a.com is of the sites called",
        ),
        (SITES + RULES + "more: 1", "channels.yml: more: Extra inputs are not permitted"),
        (
            "rules: [{channel: X, click_id: [dclid]}]\notherwise: Y",
            "rules.0.click_id.0: Input should be 'gclid'",
        ),
        ("rules: [{channel: X, refferer: any}]\notherwise: Y", "rules.0.refferer: Extra inputs"),
        ("otherwise: Y", "rules: Field required"),
    ],
)
def test_invalid_channels_yml_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(MillraceError) as rejected:
        load(tmp_path, text)
    assert message in str(rejected.value)


def test_channels_yml_overrides_referrers_yml(tmp_path: Path) -> None:
    listed = "hosts: {social: [a.com, b.com], search: [c.com]}"
    rules = load(tmp_path, SITES + RULES, listed)
    found = [channel(rules, f"https://{host}.com/") for host in "abcd"]
    assert found == ["Organic Search", "Organic Social", "Organic Search", "Referral"]


def test_channels_yml_hosts_apply_without_referrers_yml(tmp_path: Path) -> None:
    rules = load(tmp_path, SITES + RULES)
    assert [channel(rules, f"https://{host}.com/") for host in "ab"] == ["Organic Search", "Referral"]


def test_excluded_and_own_hosts_count_as_direct(tmp_path: Path) -> None:
    excluded = "excluded_referrers: [a.com, b.com/login]\nown_hosts: [shop.test]\n"
    rules = load(tmp_path, excluded + SITES + RULES)
    referrers = ("a.com/x", "pay.a.com", "nota.com", "b.com/login/1", "b.com/logins", "m.shop.test")
    found = [channel(rules, f"https://{referrer}") for referrer in referrers]
    assert found == ["Direct", "Direct", "Referral", "Direct", "Referral", "Direct"]


def test_changed_channels_yml_is_reloaded(tmp_path: Path) -> None:
    assert channel(load(tmp_path, SITES + RULES), "https://b.com") == "Referral"
    assert (
        channel(load(tmp_path, SITES.replace("a.com", "b.com") + RULES), "https://b.com") == "Organic Search"
    )


def test_site_entries_are_lower_case_text_without_www() -> None:
    reported = yaml.safe_load((CONF / "channels.yml").read_text(encoding="utf-8"))
    listed = yaml.safe_load((CONF / "referrers.yml").read_text(encoding="utf-8"))
    entries = [
        entry for site in reported["sites"].values() for entry in (*site["hosts"], *site.get("names", ()))
    ]
    entries += [entry for hosts in listed["hosts"].values() for entry in hosts]
    entries += reported["excluded_referrers"] + reported["country_endings"]
    wrong = [entry for entry in entries if not isinstance(entry, str) or entry != entry.lower().strip()]
    assert not wrong
    assert not [entry for entry in entries if entry.startswith("www.")]
