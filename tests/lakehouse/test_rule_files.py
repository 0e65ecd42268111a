"""Which tables follow which rules: as declared, and as computed."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from folds.consent_rules import load_consent_rules
from folds.costs.cost_rules import load_cost_rules
from folds.records import parse_rules
from folds.rule_numbers import RuleNumbers
from folds.visitors.bots import BotRules, Sender, find_bot, load_agent_rules
from folds.visitors.events import Event
from folds.visitors.identities import IdentityEvent, find_identities
from folds.visitors.results import RESULT_ROLES, SearchEvent, find_results
from folds.visitors.rules import VisitorRules
from folds.windows.window_rules import load_window_rules
from gold.daily.day_rules import DayRules
from gold.daily.update import QUERIES
from gold.publish import PublishRules
from kit.histories import fold_history
from kit.message_credit import credit_messages
from kit.parser import CONF, outcome_of
from kit.records import NOON, message, record
from lakehouse.contracts.lineage import downstream_of
from lakehouse.contracts.rule_files import FOLLOWED_BY, NUMBERS
from lakehouse.contracts.shop import DIMENSIONS
from lakehouse.run.rules_used import rebuilt_tables
from lakehouse.run.rules_version import rule_files
from lakehouse.timestamps import span_micros
from millrace.operations.rebuild import definitions
from shop.shop_file import load_shop_rules
from silver.people.identities_and_bots import PeopleRules

GOLD = ("gold.touches", "gold.bot_refunds", "gold.conversions", "gold.attribution", "gold.trails")
PEOPLE = ("silver.identities", "silver.bots", "silver.consents")
OTHERS: dict[str, Any] = {
    "session_gap": timedelta(minutes=40),
    "continuation_span": timedelta(hours=1),
    "impression_span": timedelta(minutes=5),
    "click_pause": timedelta(minutes=10),
    "search_span": timedelta(minutes=5),
    "bot_events": 20,
    "bot_span": timedelta(minutes=10),
    "look_back": timedelta(hours=2),
    "half_life": timedelta(hours=1),
    "position_ends": 0.3,
    "on_site_promotions": "credit",
    "view_span": timedelta(hours=1),
    "view_through": True,
    "campaign_in_session": "ignore",
}


def test_every_rule_is_followed_by_tables_that_can_be_rebuilt() -> None:
    files = {file.name for file in rule_files(CONF)} - {NUMBERS}
    assert set(FOLLOWED_BY) == files | {f"{NUMBERS}:{name}" for name in RuleNumbers.model_fields}
    assert {table for tables in FOLLOWED_BY.values() for table in tables} <= set(definitions())


def test_rebuilt_tables_are_those_with_definitions_each_after_its_inputs() -> None:
    names = [table.name for table in rebuilt_tables()]
    assert set(names) == set(definitions())
    for place, table in enumerate(rebuilt_tables()):
        assert not set(names[place:]) & set(table.inputs), table.name


@pytest.mark.parametrize(
    ("load", "tables"),
    [
        (parse_rules.load_parse_rules, ("silver.events",)),
        (PeopleRules.load, PEOPLE),
        (PublishRules.load, GOLD),
        (load_consent_rules, (*GOLD, "silver.consents")),
        (DayRules.load, tuple(QUERIES)),
        (load_window_rules, ("gold.traffic",)),
        (load_cost_rules, ("silver.campaign_costs",)),
        (load_shop_rules, tuple(DIMENSIONS)),
    ],
)
def test_tables_follow_the_files_that_their_rules_are_read_from(
    load: Callable[[Path], object], tables: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_rules, "rules_version", lambda _: "")  # reads all files
    with _files_read(monkeypatch) as read:
        load(CONF)
    assert read
    of_people = tables == PEOPLE
    for file in read - {NUMBERS}:
        direct = FOLLOWED_BY[file]
        following = {*direct, *downstream_of(direct)} & set(tables)
        assert following if of_people else following == set(tables), file


@contextmanager
def _files_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The names of the files of conf/ that are read during the block."""
    read: set[str] = set()
    read_text = Path.read_text

    def noted(path: Path, *args: Any, **more: Any) -> str:
        read.add(path.name)
        return read_text(path, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", noted)
        yield read


@pytest.mark.parametrize("number", RuleNumbers.model_fields)
def test_tables_that_change_with_a_number_are_those_that_follow_it(number: str) -> None:
    before, after = rows_by(RuleNumbers()), rows_by(RuleNumbers(**{number: OTHERS[number]}))
    changed = {table for table, rows in before.items() if rows != after[table]}
    following = FOLLOWED_BY[f"{NUMBERS}:{number}"]
    assert set(following) <= changed
    assert changed <= {*following, *downstream_of(following)}


@cache
def rows_by(numbers: RuleNumbers) -> dict[str, list[Any]]:
    """Rows by table that follow from `messages`."""
    found: dict[str, list[Any]] = defaultdict(list)
    rules, bots = VisitorRules.of(numbers), load_agent_rules(CONF)
    bot_rules = BotRules(bots, numbers.bot_events, span_micros(numbers.bot_span))
    gap = span_micros(numbers.session_gap)
    for visitor, events in _events().items():
        visits = fold_history(visitor, map(_visit_event, events), rules, 10**18)
        found["silver.sessions"] += visits.sessions
        found["silver.impressions"] += visits.impressions
        found["silver.searches"] += visits.searches
        searched = [_searched(event) for event in events if event.role in RESULT_ROLES]
        everything = [(0, 10**18)]
        results = find_results(visitor, searched, everything, rules.searches, 10**18)
        found["silver.search_results"] += results
        said = [IdentityEvent(event.event_time, event.event_id, event.user_id) for event in events]
        found["silver.identities"] += find_identities(visitor, said, gap)
        senders = [Sender(None, None, event.event_time) for event in events]
        found["silver.bots"].append(
            find_bot(visitor, senders, (each.at for each in senders), None, bot_rules)
        )
    credited = credit_messages(messages(), numbers)
    found["gold.touches"] = credited.touches
    found["gold.visitor_minutes"] = credited.minutes
    found["gold.conversions"] = credited.persons.conversions
    found["gold.attribution"] = credited.persons.attribution
    found["gold.trails"] = list(credited.persons.trails)
    return found


@cache
def _events() -> dict[str, list[Any]]:
    """Parsed messages by visitor."""
    by_visitor: dict[str, list[Any]] = defaultdict(list)
    for each in messages():
        event = outcome_of(record(each))
        by_visitor[event.visitor_id].append(event)
    return by_visitor


def _visit_event(event: Any) -> Event:
    return Event(**{name: getattr(event, name) for name in Event._fields if hasattr(event, name)})


def _searched(event: Any) -> SearchEvent:
    return SearchEvent(*(getattr(event, name) for name in SearchEvent._fields))


@cache
def messages() -> tuple[dict[str, Any], ...]:
    """Random messages of 16 visitors over some days, and of one who sends one each second."""
    chance, found = random.Random(7), []
    steps = (1, 8, 60, 240, 480, 1_000, 2_000, 3_000, 8_000, 80_000)
    for visitor in range(16):
        at = NOON
        for number in range(40):
            at += timedelta(seconds=chance.choice(steps))
            found.append(_message(chance, f"{visitor}-{number}", f"v{visitor}", at))
    flood = (NOON + timedelta(seconds=number) for number in range(150))
    found += [message(f"flood-{number}", "flood", "page", at) for number, at in enumerate(flood)]
    return tuple(found)


def _message(chance: random.Random, uid: str, visitor: str, at: Any) -> dict[str, Any]:
    site = "https://shop.example/"
    page = {"url": site + chance.choice(("", "?utm_source=a&utm_medium=cpc", "?utm_campaign=p", "?gclid=1"))}
    page["referrer"] = chance.choice((f"{site}cart", "https://blog.example/", ""))
    promotion = {"promotion_id": chance.choice("pq")}
    kind, properties = chance.choice(
        (
            ("page", {}),
            ("page", {}),
            ("Promotion Viewed", promotion),
            ("Promotion Clicked", promotion),
            ("Products Searched", {"query": "boots", "products": [{"product_id": "boot"}]}),
            ("Product Clicked", {"product_id": "boot"}),
            ("Order Completed", {"order_id": uid, "total": 90, "currency": "EUR"}),
        )
    )
    user = {"userId": chance.choice(("ann", "ben"))} if chance.random() < 0.1 else {}
    return message(uid, visitor, kind, at, properties=properties, context={"page": page}, **user)
