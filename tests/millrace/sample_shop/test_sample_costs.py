"""Costs of the sample shop: three platforms and currencies, one day again, and one name without visits."""

from datetime import timedelta

from folds.records.outcomes import CampaignCost
from kit.oracle_costs import COSTS_TOPIC, current_rows
from kit.parser import outcome_of, parse
from kit.records import Record
from millrace.clients.record import Record as Sent
from millrace.sample_shop.acquisition import _ORIGINS
from millrace.sample_shop.sample_costs import corrected_costs, daily_costs
from millrace.sample_shop.traffic_stream import DEFAULT_START

DAYS = timedelta(days=2, hours=23)


def parsed(sent: list[Sent]) -> list[dict[str, object]]:
    records = [Record(each.value, topic=COSTS_TOPIC) for each in sent]
    assert all(isinstance(outcome_of(each), CampaignCost) for each in records)
    return parse(records)


def test_costs_are_a_function_of_the_seed() -> None:
    costs = list(daily_costs(7, DEFAULT_START, DEFAULT_START + DAYS))
    assert costs == list(daily_costs(7, DEFAULT_START, DEFAULT_START + DAYS))
    assert costs != list(daily_costs(8, DEFAULT_START, DEFAULT_START + DAYS))


def test_costs_have_three_currencies_and_each_day() -> None:
    rows = parsed(list(daily_costs(7, DEFAULT_START, DEFAULT_START + DAYS)))
    assert {row["currency"] for row in rows} == {"EUR", "USD", "GBP"}
    assert len({row["day"] for row in rows}) == 3
    assert len(rows) == 3 * 6


def test_corrected_costs_replace_one_day_of_one_platform() -> None:
    before = parsed(list(daily_costs(7, DEFAULT_START, DEFAULT_START + DAYS)))
    again = parsed(list(corrected_costs(7, DEFAULT_START)))
    replaced = [row for row in before if row not in current_rows([*before, *again])]
    assert {(row["platform"], row["day"]) for row in replaced} == {("google-ads", DEFAULT_START.date())}
    assert len(replaced) == len(again) == 2


def test_one_campaign_has_a_name_that_no_visit_has() -> None:
    visits = {(each.utm.get("source"), each.utm.get("medium"), each.utm.get("name")) for each in _ORIGINS}
    rows = parsed(list(daily_costs(7, DEFAULT_START, DEFAULT_START)))
    names = {(row["campaign_source"], row["campaign_medium"], row["campaign_name"]) for row in rows}
    assert names - visits == {("facebook", "paid_social", "lamp-weeks")}
