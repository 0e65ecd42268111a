"""User agents of bots: conf/bots.yml and conf/crawlers.yml, against lists that these were not made from."""

import pickle
import re
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from folds.visitors.agent_matcher import needed_text
from folds.visitors.bots import load_bot_rules
from folds.visitors.user_agents import NO_USER_AGENT, AgentRules, load_agent_rules
from kit.oracle_identities import listed_as
from kit.parser import CONF
from kit.parser import parse as parse_records
from kit.records import message, record
from lakehouse.errors import MillraceError
from millrace.clients.access_log import page_event

HERE = Path(__file__).parent
RULES = load_agent_rules(CONF)
BROWSERS = [agent for each in yaml.safe_load((HERE / "browsers.yml").read_text()).values() for agent in each]
CRAWLERS = [agent for each in yaml.safe_load((HERE / "crawlers.yml").read_text()).values() for agent in each]
HELD_OUT = yaml.safe_load((HERE / "device_detector.yml").read_text())
PATTERNS = (*RULES.patterns, *RULES.not_read)
CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/132.0.0.0 Mobile Safari/537.36"

BOTS = {
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "bots?(?![a-z])",
    f"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) {CHROME} (compatible; Googlebot/2.1)": None,
    "Mozilla/5.0 (compatible; Yahoo! Slurp)": "slurp",
    f"Mozilla/5.0 (X11; Linux x86_64) {CHROME.replace('Chrome', 'HeadlessChrome')}": "headless",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko; compatible; Google-Agent)": None,
    f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {CHROME} Manus-User/1.0": "manus-user",
    "facebookexternalhit/1.1": "facebook(?:external|catalog|platform)",
    "Tiny Tiny RSS/1.11": "tiny tiny rss",
    "WhatsApp/2.23.20.0": "^whatsapp/(?!.{0,40} device/)",
    "python-requests/2.32.3": "python",
    "CURL/8.5.0": "^(?:lib)?curl",
    "Wget/1.14 (linux-gnu)": "(?<![a-z])wget",
    "Java/17.0.6": "^java/",
    "Go-http-client/2.0": "go[- ]http",
    "Apache-HttpClient/4.5.13": "http-?client",
    "axios/1.7.2": "axios",
    "Webcollector": "collector",
    "Debian APT-HTTP/1.3 (2.2.4)": "apt-http",
    "PycURL/7.43.0 libcurl/7.47.0 GnuTLS/3.4.10": "(?<![a-z])(?:lib|py)curl/",
    "Mozilla/5.0 (compatible;)": None,
    "<script>alert(1)</script>": None,
    "example.ch/1.0": None,
    "Editor/3.0.16 (darwin arm64)": None,
    "fragmenting": None,
}
PERSONS = [
    f"Mozilla/5.0 (Linux; Android 7.0; M bot 60 Build/NRD90M; wv) {CHROME}",
    f"Mozilla/5.0 (Linux; Android 9; CUBOT_X19) {CHROME}",
    f"Mozilla/5.0 (Linux; Android 12; CUBOT) {CHROME}",
    f"Mozilla/5.0 (Linux; Android 8.1.0; XBot_Senior Build/O11019) {CHROME}",
    f"Mozilla/5.0 (Linux; U; Android 7.1; de-de; POWER BOT Build/NRD90M) {CHROME}",
    f"Mozilla/5.0 (Linux; Android 13; Spider 8) {CHROME}",
    "Dalvik/2.1.0 (Linux; U; Android 7.0; M bot 60 Build/NRD90M)",
    "[FBAN/FB4A;FBAV/567.1.0.52.74;FBDV/SM-S921B;FBSV/16]",
    "[FBAN/FB4A;FBAV/567.1.0.52.74;FBDV/M bot 60;FBSV/7]",
    f"Mozilla/5.0 (Linux; Android 9; X1) {CHROME} Instagram 330.0 Android (28/9; 480dpi; M bot; 60; de_DE)",
    f"Mozilla/5.0 (Linux; U; Android 4.0.3; en-us; Tab 7 (tablets.example.com) Build/IML74K) {CHROME}",
    f"Mozilla/5.0 (Linux; Android 10; K) {CHROME} Presearch/1.0",
    "Mozilla/5.0 (SerenityOS; x86_64) LibWeb+LibJS/1.0 Browser/1.0",
    "DoCoMo/2.0 F900i(c100;TB;W22H12),gzip(gfe) (via translate.google.com)",
    "okhttp",
    "ShopApp",
    "shop.example/3.1 (iOS 18.3; iPhone16,2)",
    "okhttp/4.9.2",
    "okhttp/5.0.0-alpha.14",
    "Dart/3.5 (dart:io)",
    "Shop/1 CFNetwork/1408.0.4 Darwin/22.5.0",
    "AlderFern/4.2 (iOS 18.3; iPhone16,2)",
    "Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8) okhttp/4.12.0",
    "-",
    "",
]


def test_95_of_100_known_crawlers_are_found() -> None:
    missed = [agent for agent in CRAWLERS if RULES.matched_by(agent) is None]
    assert len(CRAWLERS) > 140
    assert len(missed) <= 0.05 * len(CRAWLERS), missed


def test_95_of_100_bots_of_a_list_that_took_no_part_are_found() -> None:
    missed = [agent for agent in HELD_OUT["bots"] if RULES.matched_by(agent) is None]
    assert len(HELD_OUT["bots"]) == 500
    assert len(missed) <= 0.05 * 500, missed


def test_none_of_500_browsers_of_a_list_that_took_no_part_is_a_bot() -> None:
    browsers = HELD_OUT["browsers"]
    assert len(browsers) == 500
    assert {agent: matched for agent in browsers if (matched := RULES.matched_by(agent))} == {}


def test_no_browser_is_taken_for_a_bot() -> None:
    assert len(set(BROWSERS)) > 700
    assert {agent: matched for agent in BROWSERS if (matched := RULES.matched_by(agent))} == {}


@pytest.mark.parametrize(("agent", "matched"), BOTS.items())
def test_program_is_bot_by_the_pattern_that_it_matches(agent: str, matched: str | None) -> None:
    found = RULES.matched_by(agent)
    assert found is not None
    assert matched in (None, found)


@pytest.mark.parametrize("agent", PERSONS)
def test_telephone_app_and_its_library_are_no_bots(agent: str) -> None:
    assert RULES.matched_by(agent) is None


@pytest.mark.parametrize("agent", ["", "-"])
def test_user_agent_is_missing_in_access_log_only(agent: str) -> None:
    line = f'203.0.113.9 - - [17/May/2015:12:05:03 +0200] "GET / HTTP/1.1" 200 512 "-" "{agent}"'
    body = page_event(line.encode(), 1, "shop.example")
    sent = message("e", "ann", "page", context={"userAgent": agent})
    logged, event = parse_records([record(body), record(sent)])
    assert RULES.matched_by(logged["user_agent"], logged["library"]) == NO_USER_AGENT
    assert RULES.matched_by(event["user_agent"], event["library"]) is None


def test_library_of_a_record_is_text_or_missing() -> None:
    libraries = [{"name": "analytics.js"}, {"name": 7}, {"name": ""}, {}, None, "analytics.js", [1]]
    rows = parse_records([record(message("e", "a", "page", context={"library": each})) for each in libraries])
    assert [row["library"] for row in rows] == ["analytics.js", "7", None, None, None, None, None]


_WORDS = [
    "bot",
    "M bot 60",
    "slurp",
    "android 7;",
    "build/x",
    "(",
    ")",
    ";",
    " ",
    "curb",
    "curbside",
    "é",
    "a@b.c",
    "7",
]
_TEXTS = st.lists(st.sampled_from(_WORDS) | st.text(max_size=4) | st.sampled_from(RULES.names), max_size=6)


@given(_TEXTS.map("".join) | st.text(max_size=60))
@example("abc" * 400)
def test_any_text_matches_as_a_naive_search_does(agent: str) -> None:
    assert AgentRules.matched_by(RULES, agent) == (listed_as(agent) if agent not in ("", "-") else None)


@given(st.data())
def test_text_looked_for_first_is_in_whatever_a_pattern_matches(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(PATTERNS))
    text = data.draw(st.from_regex(re.compile(pattern, re.ASCII)))
    found = re.search(pattern, text, re.ASCII)
    assert found is None or needed_text(pattern) in text


@pytest.mark.parametrize(
    "agent",
    [
        "a",
        "(linux; android ",
        "android 4;",
        "mozilla/5.0 (a",
        " ",
        "a@",
        "android u;",
        " at abc dot ",
        "/",
        "[at",
        "1",
    ],
)
def test_time_is_bounded_for_long_hostile_user_agents(agent: str) -> None:
    start = time.process_time()
    RULES.matched_by(agent * 1_000_000)
    assert time.process_time() - start < 0.5  # about 1 ms; an unsafe pattern takes minutes


def test_rules_survive_pickling() -> None:
    rules = load_bot_rules(CONF)
    assert rules.agents.matched_by("curl/8")
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert len(pickle.dumps(rules)) < 100_000


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("user_agents: ['a.*b']", "a.*b: a repetition without bound"),
        ("user_agents: ['(?:a{0,9}){0,9}']", "a repetition without bound"),
        ("not_read: ['a+']", "a+: a repetition without bound"),
        ("user_agents: ['a{2,}']", "a repetition without bound"),
        ("user_agents: ['(']", "(: it is no regular expression"),
        ("user_agents: [7]", "user_agents"),
        ("agents: []", "agents"),
    ],
)
def test_wrong_pattern_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "bots.yml").write_text(text)
    with pytest.raises(MillraceError, match=re.escape(problem)) as error:
        load_agent_rules(tmp_path)
    assert str(error.value).startswith("bots.yml")


def test_bounded_and_escaped_repetitions_are_taken(tmp_path: Path) -> None:
    (tmp_path / "bots.yml").write_text(r"user_agents: ['a\+b', '[*+]x', 'Zebra', '\bc{1,3}d?\b']")
    rules = load_agent_rules(tmp_path)
    assert [rules.matched_by(text) for text in ("A+B", "*x", "zebra/1", "ccd", "cccc")] == [
        *rules.patterns,
        None,
    ]


def test_names_follow_words_and_bots_yml_leaves_some_out(tmp_path: Path) -> None:
    (tmp_path / "bots.yml").write_text("user_agents: []\nignored_names: [Okhttp]\n")
    names = ["okhttp", "curb", "crescent", "^lcc ", "debugbear$"]
    (tmp_path / "crawlers.yml").write_text(yaml.safe_dump({"names": names}))
    rules = load_agent_rules(tmp_path)
    assert rules.matched_by("x/1 (Curb; 2)") == "curb"
    assert rules.matched_by("Crescents/1") == "crescent"
    assert rules.matched_by("LCC (x)") == "^lcc "
    assert rules.matched_by("by DebugBear") == "debugbear$"
    others = ["okhttp/4", "Curbside/1", "acurb", "an LCC (x)", "DebugBear/1", "Increscent"]
    assert [agent for agent in others if rules.matched_by(agent)] == []


def test_every_ignored_name_is_on_the_list() -> None:
    listed = {name.strip("^$ ") for name in yaml.safe_load((CONF / "crawlers.yml").read_text())["names"]}
    assert set(yaml.safe_load((CONF / "bots.yml").read_text())["ignored_names"]) - listed == set()
