"""The latest complete load of an account's day counts, against a naive oracle: any order, copies."""

from datetime import date
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from folds.costs.campaign_costs import CampaignCost, CostFold, StampedRate
from folds.costs.cost_rules import CostRules
from folds.costs.loads import CostRecord, current_load
from folds.persons.exchange_rates import Rate
from kit.oracle_costs import costs_of, current_rows

DAY = date(2026, 3, 1)
NOON = 1_772_366_400_000_000
RATES = [
    {"currency": "USD", "rate": Decimal("0.9"), "valid_from": 0, "valid_to": NOON},
    {"currency": "USD", "rate": Decimal("0.85"), "valid_from": NOON, "valid_to": None},
]


@st.composite
def records(draw: st.DrawFn) -> list[CostRecord]:
    """Records of up to three loads of one account's day, some incomplete, with copies, in any order."""
    found = []
    for load in range(draw(st.integers(1, 3))):
        rows = draw(st.integers(1, 3))
        loaded_at = draw(st.integers(1, 2))
        sent = [
            CostRecord(
                *("ads", "shop", DAY, "google", draw(st.sampled_from(["cpc", None]))),
                draw(st.sampled_from(["brand", "sale"])),
                draw(st.decimals(-9, 99, places=4)),
                draw(st.sampled_from(["USD", "EUR", "GBP"])),
                draw(st.one_of(st.none(), st.integers(0, 9))),
                draw(st.one_of(st.none(), st.integers(0, 9))),
                *(loaded_at, f"load-{load}", number, rows, 0, NOON),
            )
            for number in range(1, rows + 1)
        ]
        kept = [row for row in sent if draw(st.booleans()) or draw(st.booleans())]
        found += kept + [row for row in kept if draw(st.integers(0, 3)) == 0]
    arrived = draw(st.permutations(found))
    return [record._replace(ingested_at=number // 2) for number, record in enumerate(arrived)]


def as_fields(sent: list[CostRecord]) -> list[dict[str, Any]]:
    return [record._asdict() for record in sent]


@given(records())
def test_current_load_matches_oracle_in_any_order(sent: list[CostRecord]) -> None:
    wanted = current_rows(as_fields(sent))
    found = [row._asdict() for row in current_load(sent)]
    for row in (*wanted, *found):
        del row["ingested_at"]
    assert found == sorted(wanted, key=lambda row: row["load_row"])


@given(records(), st.randoms())
def test_arrival_order_does_not_matter(sent: list[CostRecord], chance: Any) -> None:
    shuffled = list(sent)
    chance.shuffle(shuffled)
    assert current_load(shuffled) == current_load(sent)


@given(records())
def test_rows_match_oracle(sent: list[CostRecord]) -> None:
    fold = CostFold(CostRules(), "v1", "EUR")
    rates = [StampedRate(Rate(**rate), 1) for rate in RATES]
    found = [row._asdict() for row in fold(sent, rates)]
    for row in found:
        del row["rules_version"], row["ingested_at"]
    in_order = lambda row: str([row["campaign_medium"], row["campaign_name"], row["currency"]])  # noqa: E731
    assert sorted(found, key=in_order) == sorted(costs_of(as_fields(sent), RATES), key=in_order)


def record(loaded_at: int, row: int, rows: int, cost: str, ingested_at: int = 0, **more: Any) -> CostRecord:
    place = (loaded_at, f"load-{loaded_at}", row, rows, ingested_at, NOON)
    sent = CostRecord(
        *("ads", "shop", DAY, "google", "cpc", "brand", Decimal(cost), "USD", None, None), *place
    )
    return sent._replace(**more)


def test_incomplete_load_leaves_earlier_one_in_place() -> None:
    first, second = record(1, 1, 1, "10"), record(2, 1, 2, "3")
    assert current_load([first, second]) == [first]
    assert current_load([second]) == []
    rest = record(2, 2, 2, "4")
    assert current_load([rest, first, second, second]) == [second, rest]


def fold_rows(sent: list[CostRecord], rates: list[StampedRate], **names: Any) -> list[CampaignCost]:
    return CostFold(CostRules.model_validate({"names": names}), "v1", "EUR")(sent, rates)


def test_ingest_stamp_is_that_of_the_completing_record_or_of_the_rate() -> None:
    sent = [record(1, 1, 2, "10", 5), record(1, 2, 2, "10", 7), record(1, 2, 2, "10", 9)]
    assert [row.ingested_at for row in fold_rows(sent, [])] == [7]
    rate = Rate("USD", Decimal("0.9"), 0, None)
    assert [row.ingested_at for row in fold_rows(sent, [StampedRate(rate, 8)])] == [8]
    assert [row.ingested_at for row in fold_rows(sent, [StampedRate(rate, 2)])] == [7]


def test_count_that_its_column_cannot_hold_is_unknown() -> None:
    sent = [record(1, row, 10, "1", clicks=10**18 - 1, impressions=row) for row in range(1, 11)]
    (row,) = fold_rows(sent, [])
    assert (row.clicks, row.impressions) == (None, 55)
    (row,) = fold_rows([each._replace(load_rows=9) for each in sent[:9]], [])
    assert row.clicks == 9 * (10**18 - 1)


def test_mapped_names_are_one_campaign() -> None:
    sent = [record(1, 1, 2, "10"), record(1, 2, 2, "2.5", campaign_name="Brand | DE")]
    (row,) = fold_rows(sent, [], **{"Brand | DE": "brand"})
    assert (row.campaign_name, row.sent_names, row.cost) == (
        "brand",
        ["Brand | DE", "brand"],
        Decimal("12.5"),
    )
    rows = fold_rows(sent, [], **{"Brand | DE": {"source": "bing", "name": "brand"}})
    assert {(row.campaign_source, row.campaign_medium, row.cost) for row in rows} == {
        ("google", "cpc", Decimal(10)),
        ("bing", "cpc", Decimal("2.5")),
    }
