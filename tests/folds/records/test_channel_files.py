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
        ("own_hosts: ['https:///x']\n" + SITES + RULES, "channels.yml: own_hosts.0: 'https:///x' is no host"),
        ("excluded_referrers: ['']\n" + SITES + RULES, "excluded_referrers.0: '' is no host"),
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


@pytest.mark.parametrize(
    ("own", "referrer", "wanted"),
    [
        ("Shop.Test", "https://pay.shop.test./", "Direct"),
        ("www.shop.test", "https://shop.test/", "Direct"),
        ("https://shop.test:8443/", "https://www.shop.test/x", "Direct"),
        ("checkout.shop.test", "https://blog.shop.test/", "Direct"),
        ("'*.shop.test'", "https://blog.shop.test/", "Direct"),
        ("checkout.shop.co.uk", "https://shop.co.uk/", "Direct"),
        ("checkout.shop.co.uk", "https://other.co.uk/", "Referral"),
        ("ada.github.io", "https://ben.github.io/", "Referral"),
        ("sh\u00f6p.test", "https://XN--SHP-TNA.test/", "Direct"),
        ("partner.test/shop", "https://partner.test/shop/1", "Direct"),
        ("partner.test/shop", "https://partner.test/blog", "Referral"),
        ("'checkout.shop.{}'", "https://www.shop.de/", "Direct"),
        ("192.0.2.1", "http://192.0.2.1:8080/", "Direct"),
        ("192.0.2.1", "http://192.0.3.1/", "Referral"),
        ("'[2001:db8::1]'", "http://[2001:DB8:0::1]:80/", "Direct"),
    ],
)
def test_own_host_covers_its_registrable_domain(tmp_path: Path, own: str, referrer: str, wanted: str) -> None:
    rules = load(tmp_path, f"own_hosts: [{own}]\ncountry_endings: [de]\n" + SITES + RULES)
    assert channel(rules, referrer) == wanted


@pytest.mark.parametrize("excluded", ["pay.test", "PAY.test.", "https://www.pay.test", "p\u00e4y.test"])
def test_excluded_referrer_covers_host_and_subdomains(tmp_path: Path, excluded: str) -> None:
    rules = load(tmp_path, f"excluded_referrers: ['{excluded}']\n" + SITES + RULES)
    host = "xn--py-via.test" if "\u00e4" in excluded else "pay.test"
    found = [
        channel(rules, f"https://{each}/")
        for each in (host, f"3ds.{host}", f"WWW.{host.upper()}.:443", f"x{host}")
    ]
    assert found == ["Direct", "Direct", "Direct", "Referral"]


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
