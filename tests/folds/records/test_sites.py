"""Classification of hosts by the longest matching site entry."""

import pickle
import time

import pytest

from folds.records.sites import Match, Sites

SITES = Sites(
    entries={
        "engine.com": "search",
        "engine.{}": "search",
        "*.engine.com": "other",
        "news.engine.com": "search",
        "x.com": "social",
        "x.com/i/chat": "ai",
        "x.com/i/chat/old": "other",
        "list.co.uk": "social",
    },
    labels={"email": r"mail\d*", "ads": "ads?"},
    endings=frozenset({"de", "uk", "co.uk"}),
    names={"engine": "search"},
)


@pytest.mark.parametrize(
    ("host", "path", "kind"),
    [
        ("engine.com", "", "search"),
        ("maps.engine.com", "", "other"),
        ("news.engine.com", "", "search"),
        ("m.news.engine.com", "", "search"),
        ("myengine.com", "", None),
        ("engine.com.evil", "", None),
        ("engine.de", "", "search"),
        ("engine.co.uk", "", "search"),
        ("sub.engine.co.uk", "", "search"),
        ("engine.evil.de", "", None),
        ("engine.evil", "", None),
        ("x.com", "/", "social"),
        ("x.com", "/i", "social"),
        ("x.com", "/i/chat", "ai"),
        ("x.com", "/i/chat/", "ai"),
        ("x.com", "/i/chat/1", "ai"),
        ("x.com", "/i/chat/old/1", "other"),
        ("m.x.com", "/i/chat", "ai"),
        ("x.com", "/i/chats", "social"),
        ("x.com", "/a/i/chat", "social"),
        ("mail.engine.com", "", "email"),
        ("mail7.engine.de", "", "email"),
        ("eu.mail.shop.example", "", "email"),
        ("mail.com", "", None),
        ("mail.co.uk", "", None),
        ("mail.list.co.uk", "", "email"),
        ("mailbox.shop.example", "", None),
        ("ads.mail.shop.example", "", "ads"),
        ("ad.example", "", None),
        ("com", "", None),
        ("", "", None),
        ("a..b", "", None),
    ],
)
def test_host_has_kind_of_longest_matching_entry(host: str, path: str, kind: str | None) -> None:
    found = SITES.find(host, path)
    assert (found.kind if found else None) == kind


def test_match_names_the_matching_entry() -> None:
    assert SITES.find("m.x.com", "/i/chat/1") == Match("ai", "x.com/i/chat")
    assert SITES.find("engine.co.uk") == Match("search", "engine.{}")
    assert SITES.find("mail7.shop.example") == Match("email", "mail7.*")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("engine", "search"),
        ("www.engine.de", "search"),
        ("x.com/i/chat", "ai"),
        ("engines", None),
        ("", None),
    ],
)
def test_utm_source_has_kind_of_matching_site(source: str, kind: str | None) -> None:
    found = SITES.find_source(source)
    assert (found.kind if found else None) == kind


def test_sites_survive_pickling() -> None:
    SITES.find("x.com", "/")
    assert pickle.loads(pickle.dumps(SITES)) == SITES


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("a." * 1_000_000 + "com", ""),
        ("x.com", "/i" * 1_000_000),
        ("a-" * 100 + "mail.x.com", ""),
        ("a" * 254, ""),
    ],
)
def test_long_hosts_and_paths_are_matched_within_a_second(host: str, path: str) -> None:
    began = time.process_time()
    SITES.find(host, path)
    SITES.find_source(host + path)
    assert time.process_time() - began < 1
