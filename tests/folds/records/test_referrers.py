"""Channels of visits without a campaign, by referrer: a table of cases, and an oracle for any referrer."""

import random
from itertools import product
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from folds.records.addresses import NO_CAMPAIGN, read_address
from kit.oracle_channels import channel_of
from kit.parser import CONF, RULES

SHOP = "https://shop.example/"
TABLE = yaml.safe_load(Path(__file__).with_name("referrers.yml").read_text(encoding="utf-8"))
CASES = [
    (channel, referrer)
    for channel, kinds in TABLE.items()
    for referrers in kinds.values()
    for referrer in referrers
]
EMPTY_CAMPAIGN = dict.fromkeys(("source", "medium", "name", "id"))
_CHANNELS_YML = yaml.safe_load((CONF / "channels.yml").read_text(encoding="utf-8"))
_REFERRERS_YML = yaml.safe_load((CONF / "referrers.yml").read_text(encoding="utf-8"))["hosts"]
_ENTRIES = sorted(
    {host for site in _CHANNELS_YML["sites"].values() for host in site["hosts"]}
    | {host for hosts in _REFERRERS_YML.values() for host in hosts}
    | set(_CHANNELS_YML["excluded_referrers"])
)


def channel(referrer: str, url: str = SHOP) -> str:
    return RULES.channel(NO_CAMPAIGN, read_address(url), referrer)


@pytest.mark.parametrize(("wanted", "referrer"), CASES)
def test_referrer_maps_to_expected_channel(wanted: str, referrer: str) -> None:
    assert channel(referrer) == wanted
    assert channel_of(EMPTY_CAMPAIGN, SHOP, referrer) == wanted


def test_referrer_table_has_no_duplicates() -> None:
    referrers = [referrer for _, referrer in CASES]
    assert len(referrers) == len(set(referrers)) > 250


def test_every_configured_host_matches_oracle_channel() -> None:
    for entry, before, after in product(_ENTRIES, ("", "sub."), ("/a", "x")):
        referrer = f"https://{before}{entry.removeprefix('*.').replace('{}', 'co.uk')}{after}"
        assert channel(referrer) == channel_of(EMPTY_CAMPAIGN, SHOP, referrer), referrer


_LABELS = st.sampled_from(
    ["www", "mail", "webmail3", "ads", "adserver", "google", "x", "com", "co", "uk", "de", "ru", "evil", "a"]
)
_HOSTS = st.builds(
    lambda before, entry, ending: ".".join([*before, entry.removeprefix("*.").replace("{}", ending)]),
    st.lists(_LABELS, max_size=2),
    st.one_of(st.sampled_from(_ENTRIES), st.lists(_LABELS, min_size=1, max_size=4).map(".".join)),
    st.sampled_from(["de", "com.br", "com", "uk", "evil.de"]),
)
_REFERRERS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["https://", "http://", "HTTPS://u:p@", "android-app://", "", "//"]),
        _HOSTS,
        st.sampled_from(
            ["", ":443", "/", "/i/grok", "/chat/1", "?q=/i/grok", "#/chat", "/login/x", ".", "/cse/"]
        ),
    ),
)


@settings(max_examples=300, deadline=None)
@given(_REFERRERS, st.sampled_from([SHOP, "/cart", "https://mail.google.com/", "https://x.com/a"]))
def test_generated_referrer_matches_oracle_channel(referrer: str, url: str) -> None:
    assert channel(referrer, url) == channel_of(EMPTY_CAMPAIGN, url, referrer)


def test_referrer_channel_is_independent_of_earlier_lookups() -> None:
    referrers = [referrer for _, referrer in CASES] * 2
    random.Random(7).shuffle(referrers)
    wanted = {referrer: reported for reported, referrer in CASES}
    assert all(channel(referrer) == wanted[referrer] for referrer in referrers)
