"""Costs in three currencies, a file sent again, a late rate: figures by hand, streamed and rebuilt."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.oracle_costs import COSTS_TOPIC
from kit.pipeline import assert_as_the_oracle, empty_tables, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, rate, record
from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.readers.open_tables import open_tables
from lakehouse.readers.positions import find_position, versions_as_of
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from millrace.operations.rebuild import definitions

pytestmark = pytest.mark.long

DAY = date(2026, 3, 1)
HOUR = timedelta(hours=1)
COST_TABLES = ("silver.cost_records", "silver.campaign_costs", "gold.campaign_performance")
MONEY = ("cost", "roas", "cost_per_conversion", "cost_per_visit")
Figures = dict[tuple[str, str], tuple[Any, ...]]


def landing(uid: str, visitor: str, hour: float, source: str, name: str) -> Record:
    url = f"https://shop.example/?utm_source={source}&utm_medium=cpc&utm_campaign={name}"
    context = {"page": {"url": url}, "userAgent": BROWSER}
    return record({**message(uid, visitor, "page", NOON + hour * HOUR), "context": context})


def order(uid: str, visitor: str, hour: float, total: str) -> Record:
    properties = {"order_id": f"A-{uid}", "total": total, "currency": "EUR"}
    return record(message(uid, visitor, "Order Completed", NOON + hour * HOUR, properties=properties))


def spent(
    load: int, row: int, rows: int, source: str, name: str, cost: str, currency: str, **more: Any
) -> Record:
    """A row of a load of one platform and day."""
    body = {
        "platform": f"{source}-ads",
        "account": "shop",
        "day": DAY.isoformat(),
        "campaign_source": source,
        "campaign_medium": "cpc",
        "campaign_name": name,
        "cost": cost,
        "currency": currency,
        "loaded_at": f"2026-03-0{load}T06:00:00Z",
        "load_id": f"load-{load}",
        "load_row": row,
        "load_rows": rows,
    }
    return record({**body, **more}, topic=COSTS_TOPIC)


def batches() -> Iterator[list[Record]]:
    """Visits and first files; half of a file sent again; its other half; a late rate; late copies."""
    first = [
        spent(2, 1, 2, "google", "brand", "40", "EUR"),
        spent(2, 2, 2, "google", "sale", "5", "EUR"),
        spent(2, 1, 1, "bing", "brand", "20", "USD"),
        spent(2, 1, 1, "meta", "lamps", "12.34", "GBP"),
        *(spent(2, 1, 1, "bing", "typo", "1", "USD", day=day) for day in ("1970-01-01", "9999-12-31")),
    ]
    again = [
        spent(3, 1, 2, "google", "brand", "25", "EUR", ad_group="a"),
        spent(3, 2, 2, "google", "brand", "5", "EUR", ad_group="b"),
    ]
    yield [
        rate("USD", "0.9", NOON - 24 * HOUR),
        landing("a-1", "ann", 0, "google", "brand"),
        order("a-2", "ann", 0.1, "100"),
        landing("b-1", "ben", 0, "google", "brand"),
        landing("c-1", "cid", 0, "bing", "brand"),
        order("c-2", "cid", 0.1, "45"),
        *first,
        record("[]", topic=COSTS_TOPIC),
        record({"cost": 1}, topic=COSTS_TOPIC),
        record(
            {
                "messageId": "clock",
                "type": "page",
                "anonymousId": "z",
                "originalTimestamp": "2026-03-09T00:00:00Z",
            }
        ),
    ]
    yield [again[1], first[0]]
    yield [again[1], again[0]]
    yield [rate("GBP", "1.15", NOON - 24 * HOUR)]
    yield [*first[::-1], spent(2, 1, 1, "bing", "brand", "20", "USD")]


def figures(settings: Settings) -> Figures:
    """Cost, ROAS, cost per conversion and per visit by campaign: the same for models of one touch."""
    columns = ("day", "campaign_source", "campaign_name", "model", *MONEY)
    rows = read_rows(settings, "gold.campaign_performance", columns)
    found: dict[tuple[str, str], set[tuple[Any, ...]]] = {}
    for row in rows:
        if row["day"] == DAY and row["campaign_name"]:
            of = row["campaign_source"], row["campaign_name"]
            found.setdefault(of, set()).add(tuple(row[name] for name in MONEY))
    return {of: each for of, values in found.items() for each in values if len(values) == 1}


def money(*values: str | None) -> tuple[Decimal | None, ...]:
    return tuple(None if value is None else Decimal(value) for value in values)


GOOGLE, SALE, BING, META = ("google", "brand"), ("google", "sale"), ("bing", "brand"), ("meta", "lamps")
FIRST: Figures = {
    GOOGLE: money("40", "2.5", "40", "20"),  # 100 / 40; 40 for one order; 40 for two visits
    SALE: money("5", "0", None, None),
    BING: money("18", "2.5", "18", "18"),  # 20 USD at 0.9; 45 / 18
    META: money(None, None, None, None),  # no rate of GBP yet
}
AGAIN: Figures = {
    GOOGLE: money("30", "3.3333", "30", "15"),  # 25 + 5; 100 / 30
    BING: FIRST[BING],
    META: FIRST[META],
}
RATED: Figures = AGAIN | {META: money("14.1910", "0", None, None)}  # 12.34 GBP at 1.15
WANTED = [FIRST, FIRST, AGAIN, RATED, RATED]


@pytest.fixture(scope="module")
def states(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Settings, list[Figures], list[dict[str, Any]], list[bool]]:
    """Figures, all rows, and whether pages show these, after each batch."""
    settings = empty_home(spark, tmp_path_factory.mktemp("costs"))
    bronze, found, rows, shown = Bronze(spark, settings), [], [], []
    for records in batches():
        bronze.commit(records)
        run_jobs(spark, settings)
        assert_as_the_oracle(settings, Oracle.over(bronze.stored))
        found.append(figures(settings))
        rows.append({name: contents(settings, name) for name in COST_TABLES})
        shown.append(is_shown(settings, "gold.campaign_performance"))
    return settings, found, rows, shown


def is_shown(settings: Settings, name: str) -> bool:
    """Whether the last version of a table is the one at the latest position."""
    tables = open_tables(settings)
    at_position = versions_as_of(tables, find_position(tables, "latest"), [name])
    return at_position[name] == tables.latest_version(name)


def contents(settings: Settings, name: str) -> list[str]:
    """All rows of a table, with all columns."""
    return sorted(map(repr, read_rows(settings, name, TABLES[name].column_names)))


@pytest.mark.parametrize("number", range(len(WANTED)))
def test_figures_after_each_batch_are_those_by_hand(states: Any, number: int) -> None:
    assert states[1][number] == WANTED[number]


def test_costs_and_rates_without_new_events_are_shown_at_the_latest_position(states: Any) -> None:
    assert states[3] == [True] * len(WANTED)


def test_late_rate_changes_only_costs_in_its_currency(states: Any) -> None:
    before, after = states[2][2], states[2][3]
    for name in COST_TABLES[1:]:
        changed = set(before[name]) ^ set(after[name])
        assert changed
        assert all("'lamps'" in row for row in changed)


def test_half_of_a_load_and_copies_change_no_figure(states: Any) -> None:
    for one, other in ((0, 1), (3, 4)):
        for name in COST_TABLES[1:]:
            assert states[2][one][name] == states[2][other][name]


def test_rebuild_gives_the_rows_of_the_stream(spark: SparkSession, states: Any) -> None:
    settings, _, rows, _ = states
    empty_tables(settings, COST_TABLES)
    job = rebuild_job(definitions(), COST_TABLES)
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert {name: contents(settings, name) for name in COST_TABLES} == rows[-1]
