"""Hosts of URLs in one notation, and their registrable domains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.records.hosts import host_of, is_registrable, is_same_site, registrable_domain
from kit import oracle_hosts


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://Example.COM:443/a?b#c", "example.com"),
        ("https://www.example.com", "example.com"),
        ("https://www2.example.com/", "www2.example.com"),
        ("https://user:secret@example.com/", "example.com"),
        ("https://example.com?x=@other.com", "example.com"),
        ("https://a@b@example.com/", "example.com"),
        ("https://example.com#@other.com", "example.com"),
        ("android-app://com.google/", "com.google"),
        ("example.com/a", None),
        ("/a", None),
        ("", None),
        ("https:///a", None),
        ("https://./a", None),
        ("about:blank", None),
        ("https://Example.COM.:443/", "example.com"),
        ("https://www.example.com../", "example.com"),
        ("https://sh\u00d6p.example/", "xn--shp-tna.example"),
        ("https://SH%C3%96P.example/", "xn--shp-tna.example"),
        ("https://XN--SHP-TNA.example/", "xn--shp-tna.example"),
        ("https://www\u3002example\u3002com/", "example.com"),
        ("https://stra\u00dfe.example/", "xn--strae-oqa.example"),
        ("http://[2001:DB8:0:0::1]:8080/a", "[2001:db8::1]"),
        ("http://user@[::1]/", "[::1]"),
        ("http://[V1.a]:80/", "[v1.a]"),
        ("http://[::1", None),
        ("https://www.@/", None),
        ("https://not a host/", None),
        (" https://example.com:443\n", "example.com"),
        ("http://192.0.2.1:8080/", "192.0.2.1"),
    ],
)
def test_host_is_extracted_from_url(address: str, host: str | None) -> None:
    assert host_of(address) == host


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example", "b.example"),
        ("a.b.co.uk", "b.co.uk"),
        ("a.b.c.kawasaki.jp", "b.c.kawasaki.jp"),
        ("a.city.kawasaki.jp", "city.kawasaki.jp"),
        ("a.ben.github.io", "ben.github.io"),
        ("a.b.xn--55qx5d.cn", "b.xn--55qx5d.cn"),
        ("co.uk", None),
        ("localhost", None),
        ("[2001:db8::1]", None),
        ("192.0.2.1", None),
        ("192.0.2", None),
        ("a..b", None),
        ("a." * 200 + "example", None),
    ],
)
def test_registrable_domain_follows_public_suffix_list(host: str, domain: str | None) -> None:
    assert registrable_domain(host) == (domain or host)
    assert is_registrable(host) == (domain is not None)
    assert oracle_hosts.registered_domain(host) == domain


def test_missing_host_is_on_no_site() -> None:
    assert not is_same_site(None, None)
    assert not is_same_site("shop.example", None)
    assert is_same_site("shop.example", "pay.shop.example")


_LABELS = st.sampled_from(
    ["a", "b", "www", "shop", "com", "co", "uk", "jp", "ck", "kobe", "github", "io", "192", ""]
)
_HOSTS = st.lists(_LABELS, min_size=1, max_size=5).map(lambda labels: ".".join(labels).rstrip("."))


@given(_HOSTS, _HOSTS)
def test_generated_hosts_match_oracle(host: str, other: str) -> None:
    assert registrable_domain(host) == (oracle_hosts.registered_domain(host) or host)
    assert is_same_site(host, other) == oracle_hosts.is_same_site(host, other)


@given(st.text(max_size=12), st.sampled_from(["https://{}/", "https://[{}]:80", "a://{}@{}:x?{}", "{}"]))
def test_any_text_has_a_host_or_none_that_is_stable(text: str, form: str) -> None:
    host = host_of(form.replace("{}", text))
    assert host is None or registrable_domain(host) == registrable_domain(registrable_domain(host))
