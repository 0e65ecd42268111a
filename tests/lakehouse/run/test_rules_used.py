"""Which tables have rows by other rules than the current ones."""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

import pytest

from lakehouse.contracts.lineage import downstream_of
from lakehouse.run.rules_used import Rebuild, RulesUsed, Use, tables_of_other_rules
from lakehouse.timestamps import FIRST, LAST

CREDIT = ["gold.attribution", "gold.campaign_performance", "gold.dimension_performance", "gold.sketches"]
"""Tables that follow the half-life, in the order of rebuilds."""

BEFORE = {
    "roles.yml": "types: {page: page_view}",
    "rules.yml": "half_life: P7D\nclick_pause: PT10S",
    "windows.yml": "1 day: {size: P1D}",
}
SHORT = {**BEFORE, "rules.yml": "half_life: P1D\nclick_pause: PT10S"}
TEXTS = {"before": BEFORE, "short": SHORT, "wide": {**BEFORE, "windows.yml": "2 days: {size: P2D}"}}
SHOP = dict.fromkeys(("silver.customers", "silver.products", "silver.campaigns", "silver.orders"), LAST)


def at(second: int) -> datetime:
    return datetime(2026, 3, 1, tzinfo=timezone.utc) + timedelta(seconds=second)


def used(*versions: str, rebuilds: tuple[Rebuild, ...] = ()) -> RulesUsed:
    """Versions that jobs follow one after another, each for ten seconds."""
    return RulesUsed(
        TEXTS, [Use(version, at(10 * place)) for place, version in enumerate(versions)], rebuilds
    )


def rebuilt(*tables: str, version: str = "short", start: int = 11, end: int = 12) -> tuple[Rebuild, ...]:
    return tuple(Rebuild(table, version, at(start), at(end)) for table in tables)


def due(
    current: Mapping[str, str], history: RulesUsed, created: Mapping[str, datetime] | None = None
) -> list[str]:
    """Tables to rebuild; those that are not in `created` are as old as the home."""
    return tables_of_other_rules(current, history, lambda name: (created or {}).get(name, FIRST))


def test_no_table_is_due_while_jobs_have_followed_one_version() -> None:
    assert due(BEFORE, used("before")) == []
    assert due(BEFORE, RulesUsed({})) == []


def test_comments_and_order_do_not_make_a_table_due() -> None:
    again = {**BEFORE, "rules.yml": "# numbers\nclick_pause: PT10S\nhalf_life: P7D\n"}
    assert due(again, used("before")) == []


@pytest.mark.parametrize("versions", [("before",), ("before", "short")], ids=["not yet", "followed"])
def test_tables_that_follow_a_changed_number_are_due(versions: tuple[str, ...]) -> None:
    assert due(SHORT, used(*versions)) == CREDIT


def test_change_of_windows_makes_windows_due_and_no_other_table() -> None:
    assert due(TEXTS["wide"], used("before", "wide")) == ["gold.traffic"]


@pytest.mark.parametrize(
    ("number", "tables"),
    [
        ("impression_span", {"silver.impressions", "gold.touches", "gold.trails", "gold.visitor_minutes"}),
        ("click_pause", {"silver.impressions", "gold.touches", "gold.promotion_performance"}),
        ("search_span", {"silver.searches", "silver.search_results", "gold.search_performance"}),
        ("session_gap", {"silver.sessions", "silver.identities", "gold.persons", "gold.traffic"}),
    ],
)
def test_tables_without_a_rules_version_are_due(number: str, tables: set[str]) -> None:
    changed = {**BEFORE, "rules.yml": f"{BEFORE['rules.yml']}\n{number}: PT1S"}
    found = due(changed, used("before"))
    assert tables <= set(found)
    assert not {"silver.events", "silver.exchange_rates"} & set(found)


def test_tables_computed_from_a_due_table_are_due_after_it() -> None:
    found = due({**BEFORE, "roles.yml": "types: {}"}, used("before"))
    assert found[0] == "silver.events"
    assert set(found[1:]) == set(downstream_of(["silver.events"])) - {"gold.channel_credit"}


def test_rebuilt_table_is_not_due_and_the_rest_is() -> None:
    assert due(SHORT, used("before", "short", rebuilds=rebuilt("gold.attribution"))) == CREDIT[1:]
    every = (*rebuilt("gold.attribution"), *rebuilt(*CREDIT[1:], start=12, end=13))
    assert due(SHORT, used("before", "short", rebuilds=every)) == []


def test_table_rebuilt_before_its_input_is_due_again() -> None:
    early = rebuilt(*CREDIT[1:], start=10, end=11)
    assert due(SHORT, used("before", "short", rebuilds=early)) == CREDIT
    assert due(SHORT, used("before", "short", rebuilds=(*early, *rebuilt("gold.attribution")))) == CREDIT[1:]


def test_second_rebuild_of_an_input_makes_nothing_due() -> None:
    every = (*rebuilt("gold.attribution"), *rebuilt(*CREDIT[1:], start=12, end=13))
    again = (*every, *rebuilt("gold.attribution", start=14, end=15))
    assert due(SHORT, used("before", "short", rebuilds=again)) == []


def test_rules_that_return_make_tables_due_again() -> None:
    every = (*rebuilt("gold.attribution"), *rebuilt(*CREDIT[1:], start=12, end=13))
    assert due(BEFORE, used("before", "short", rebuilds=every)) == CREDIT
    assert due(BEFORE, used("before", "short", "before", rebuilds=every)) == CREDIT
    back = rebuilt("gold.attribution", version="before", start=20, end=21)
    back += rebuilt(*CREDIT[1:], version="before", start=21, end=22)
    assert due(BEFORE, used("before", "short", "before", rebuilds=back)) == []


def test_rebuild_during_which_rules_changed_does_not_count() -> None:
    during = rebuilt("gold.attribution", version="before", start=5, end=15)
    assert due(SHORT, used("before", "short", rebuilds=during)) == CREDIT


def test_rebuild_by_a_version_with_the_same_numbers_counts() -> None:
    wide = {**SHORT, "windows.yml": TEXTS["wide"]["windows.yml"]}
    texts = {**TEXTS, "both": wide}
    uses = [Use("before", at(0)), Use("short", at(10)), Use("both", at(20))]
    every = (*rebuilt("gold.attribution"), *rebuilt(*CREDIT[1:], start=12, end=13))
    assert due(wide, RulesUsed(texts, uses, every)) == ["gold.traffic"]


def test_tables_created_since_with_their_input_are_not_due() -> None:
    changed = {**BEFORE, "costs.yml": "platforms: {}"}
    history = RulesUsed({**TEXTS, "costs": changed}, [Use("before", at(0)), Use("costs", at(10))])
    new = {"silver.campaign_costs": at(12), "silver.cost_records": at(11)}
    assert due(changed, history, new) == []
    assert due(changed, history, {**new, "silver.cost_records": at(5)})[0] == "silver.campaign_costs"


def test_missing_tables_are_due_only_if_there_are_rows_to_compute_them_from() -> None:
    changed = {**BEFORE, "bots.yml": "user_agents: []", "shop.yml": "sources: {}"}
    found = due(changed, used("before"), {"silver.bots": LAST, "silver.shop_changes": LAST, **SHOP})
    assert found[0] == "silver.bots"
    assert not SHOP.keys() & set(found)
