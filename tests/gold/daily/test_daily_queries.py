"""Queries by day against naive counts."""

import json
from collections import Counter, defaultdict
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from folds.persons.models import MODELS
from gold.daily.update import run_query
from kit.oracle_costs import ratio
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.run.batch_settings import BatchSettings

Row = dict[str, Any]
STEPS = ("impression", "click", "visit", "search", "order")
CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")
NAMES = st.sampled_from([None, "a", "b"])
DAYS = st.sampled_from([date(2026, 3, 1), date(2026, 3, 2)])
TIME_COLUMNS = {"day": pa.date32(), "event_time": pa.int64()}
ID_COLUMNS = {"visitor_id": pa.string(), "event_id": pa.string()}
PROMOTION_COLUMNS = {"visitor_id": pa.string(), "promotion_id": pa.string()}
CAMPAIGN_COLUMNS = dict.fromkeys((*CAMPAIGN, "promotion_id"), pa.string())
DIMENSION_COLUMNS = {"channel": pa.string(), "custom_dimensions": pa.string()}
RULES: dict[str, Any] = {"dimension_names": "device,plan", "session_names": "device,plan", "max_values": 2}
TYPES: dict[str, dict[str, pa.DataType]] = {
    "events": {
        **TIME_COLUMNS,
        **ID_COLUMNS,
        "role": pa.string(),
        **CAMPAIGN_COLUMNS,
        "custom_dimensions": pa.string(),
    },
    "clicks": {**TIME_COLUMNS, **ID_COLUMNS, **CAMPAIGN_COLUMNS},
    "sessions": {
        **TIME_COLUMNS,
        "visitor_id": pa.string(),
        "first_event_id": pa.string(),
        **CAMPAIGN_COLUMNS,
        **DIMENSION_COLUMNS,
    },
    "conversions": {**TIME_COLUMNS, "conversion_id": pa.string(), "custom_dimensions": pa.string()},
    "searches": {
        **TIME_COLUMNS,
        "query": pa.string(),
        "outcome": pa.string(),
        "clicks": pa.int64(),
        "clicked_products": pa.list_(pa.string()),
    },
    "attribution": {
        **TIME_COLUMNS,
        **CAMPAIGN_COLUMNS,
        "channel": pa.string(),
        "conversion_id": pa.string(),
        "model": pa.string(),
        "credit": pa.float64(),
        "is_counted": pa.bool_(),
        "credited_reporting_value": pa.decimal128(18, 4),
    },
    "costs": {
        "day": pa.date32(),
        **dict.fromkeys(CAMPAIGN, pa.string()),
        "reporting_cost": pa.decimal128(18, 4),
    },
    "orders": {**TIME_COLUMNS, **ID_COLUMNS},
    "promotion_impressions": {**TIME_COLUMNS, **PROMOTION_COLUMNS},
    "promotion_clicks": {**TIME_COLUMNS, **PROMOTION_COLUMNS},
    "next_orders": {**TIME_COLUMNS, "visitor_id": pa.string()},
    "results": {**TIME_COLUMNS, "query": pa.string(), "rank": pa.int32(), "outcome": pa.string()},
}
HOUR = 3_600_000_000
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "day": DAYS,
    "event_time": st.sampled_from([0, 1, 2, 23 * HOUR, 24 * HOUR, 24 * HOUR + 1]),
    "rank": st.integers(1, 3),
    "channel": st.sampled_from(["Direct", "Email"]),
    "conversion_id": st.sampled_from(["c1", "c2", "c3"]),
    "custom_dimensions": st.sampled_from(
        [
            None,
            "{}",
            *(json.dumps({"device": each}) for each in "abcde"),
            '{"device":"a","plan":"gold","old":"1"}',
        ]
    ),
    "visitor_id": st.sampled_from(["ann", "ben"]),
    "role": st.sampled_from(["impression", "page_view", "search"]),
    "query": NAMES,
    "outcome": st.sampled_from(["clicked", "orphan", "unclicked"]),
    "clicked_products": st.lists(st.sampled_from("abcdefghijklmnop"), max_size=30),
    "model": st.sampled_from(list(MODELS)),
    "credit": st.sampled_from([0.0, 0.1, 1 / 3, 0.4, 0.5, 1.0]),
    "is_counted": st.sampled_from([True, True, False, None]),
    "credited_reporting_value": st.one_of(st.none(), st.decimals(-9, 9, places=4)),
    "reporting_cost": st.one_of(st.none(), st.decimals(-9, 99, places=4), st.just(Decimal(10))),
}


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, list[Row]]:
    """Rows of all inputs; UIDs, and ids of conversions, are unique."""
    world = {
        name: draw(
            st.lists(st.fixed_dictionaries({each: VALUES.get(each, NAMES) for each in types}), max_size=9)
        )
        for name, types in TYPES.items()
    }
    world["conversions"] = list({row["conversion_id"]: row for row in world["conversions"]}.values())
    numbers = iter(draw(st.permutations(range(9 * len(TYPES)))))
    for name, types in TYPES.items():
        for row in world[name]:
            for uid in ("event_id", "first_event_id"):
                if uid in types:
                    row[uid] = f"e{next(numbers):02}"
            if "clicked_products" in types:
                row["clicks"] = len(row["clicked_products"])
    return world


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session for small queries."""
    found = spark.newSession()
    BatchSettings(found).choose(0)
    return found


def in_spark(spark: SparkSession, name: str, world: dict[str, list[Row]]) -> list[Row]:
    tables = {each: pa.Table.from_pylist(rows, pa.schema(TYPES[each])) for each, rows in world.items()}
    frames = {each: to_frame(spark, table) for each, table in tables.items()}
    return _sorted(run_query(f"gold.{name}", {**frames, **RULES}).toArrow().to_pylist())


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [str(row[name]) for name in sorted(row)])


def naive_funnel(world: dict[str, list[Row]]) -> list[Row]:
    steps = {"page_view": "visit"}
    taken = [(row, steps.get(row["role"], row["role"])) for row in world["events"]]
    taken += [(row, "click") for row in world["clicks"]] + [(row, "order") for row in world["orders"]]
    depth: Counter[tuple[date, str]] = Counter()
    for row, step in sorted(taken, key=lambda each: (each[0]["event_time"], each[0]["event_id"])):
        so_far = depth[row["day"], row["visitor_id"]]
        depth[row["day"], row["visitor_id"]] += so_far < len(STEPS) and step == STEPS[so_far]
    days = {day for (day, _), reached in depth.items() if reached}
    return [
        {"day": day, "step": step, "visitors": sum(of > number for (on, _), of in depth.items() if on == day)}
        for day in days
        for number, step in enumerate(STEPS)
    ]


def naive_funnel_by_dimension(world: dict[str, list[Row]]) -> list[Row]:
    stated = [(row["event_time"], row["event_id"], row) for row in world["events"]]
    stated += [(row["event_time"], row["first_event_id"], row) for row in world["sessions"]]
    values: dict[tuple[date, str], str | None] = {}
    for _, _, row in sorted(stated, key=lambda each: each[:2]):
        values.setdefault((row["day"], row["visitor_id"]), row["custom_dimensions"])
    found: Counter[tuple[Any, ...]] = Counter()
    everybody = {(row["day"], row["visitor_id"]) for row in world["events"]}
    for (day, visitor), name in product(everybody, ("device", "plan")):
        theirs = {
            each: [row for row in world[each] if (row["day"], row["visitor_id"]) == (day, visitor)]
            for each in ("events", "clicks", "orders")
        }
        for row in naive_funnel(theirs):
            found[day, name, value_of(values[day, visitor], name), row["step"]] += row["visitors"]
    first = {key[:3]: -count for key, count in found.items() if key[3] == STEPS[0] and key[2] is not None}
    best: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for day, name, value in sorted(first, key=lambda each: (first[each], each[2])):
        best[day, name].append(value)
    summed: Counter[tuple[Any, ...]] = Counter()
    for (day, name, value, step), count in found.items():
        shown = value if value in (None, *best[day, name][: RULES["max_values"]]) else "(other)"
        summed[day, name, shown, step] += count
    keys = ("day", "dimension", "value", "step", "visitors")
    return [dict(zip(keys, (*key, count), strict=True)) for key, count in summed.items()]


def naive_searches(world: dict[str, list[Row]]) -> list[Row]:
    by_query: dict[tuple[date, str | None], list[Row]] = defaultdict(list)
    for row in world["searches"]:
        if row["outcome"] != "orphan":
            by_query[row["day"], row["query"]].append(row)
    found = []
    for (day, query), rows in by_query.items():
        products = Counter(product for row in rows for product in row["clicked_products"])
        top = sorted(products.items(), key=lambda each: (-each[1], each[0]))[:10]
        clicked = sum(row["clicks"] > 0 for row in rows)
        found.append(
            {
                "day": day,
                "query": query,
                "searches": len(rows),
                "clicked_searches": clicked,
                "click_through": clicked / len(rows),
                "top_products": [{"product_id": name, "clicks": clicks} for name, clicks in top],
            }
        )
    return found


def naive_campaigns(world: dict[str, list[Row]]) -> list[Row]:
    def key(row: Row) -> tuple[Any, ...]:
        own = [row[name] for name in CAMPAIGN]
        return (row["day"], *(own if any(own) else (None, None, row["promotion_id"])))

    found: dict[tuple[Any, ...], Row] = {}

    def cell(of: tuple[Any, ...], model: str) -> Row:
        names = dict(zip(("day", *CAMPAIGN), of, strict=True))
        zero: Row = {"impressions": 0, "clicks": 0, "visits": 0, "conversions": 0.0}
        money = {"credited_reporting_value": Decimal(0), "cost": Decimal(0), "credit": Fraction(0)}
        nothing = {**names, "model": model, **zero, **money}
        return found.setdefault((*of, model), nothing)

    seen = [(row, "impressions") for row in world["events"] if row["role"] == "impression"]
    seen += [(row, "clicks") for row in world["clicks"]]
    seen += [({**row, "promotion_id": None}, "visits") for row in world["sessions"]]
    for row, column in seen:
        for model in MODELS:
            cell(key(row), model)[column] += 1
    for row in world["attribution"]:
        of = cell(key(row), row["model"])
        of["conversions"] += 0 if row["is_counted"] is False else row["credit"]
        of["credit"] += 0 if row["is_counted"] is False else Fraction(round(row["credit"] * 1e15), 10**15)
        of["credited_reporting_value"] += row["credited_reporting_value"] or 0
    for row in world["costs"]:
        for model in MODELS:
            of, more = cell(key({**row, "promotion_id": None}), model), row["reporting_cost"]
            of["cost"] = None if more is None or of["cost"] is None else of["cost"] + more
    return [
        {name: value for name, value in (row | ratios(row)).items() if name != "credit"}
        for row in found.values()
    ]


def ratios(row: Row) -> Row:
    cost = row["cost"] or None
    return {
        "roas": ratio(row["credited_reporting_value"], cost),
        "cost_per_conversion": ratio(cost, row["credit"]),
        "cost_per_visit": ratio(cost, row["visits"]),
    }


def naive_results(world: dict[str, list[Row]]) -> list[Row]:
    shown = Counter((row["day"], row["query"], row["rank"]) for row in world["results"])
    clicked = Counter(
        (row["day"], row["query"], row["rank"]) for row in world["results"] if row["outcome"] == "clicked"
    )
    return [
        {"day": day, "query": query, "rank": rank, "shown": count, "clicked": clicked[day, query, rank]}
        for (day, query, rank), count in shown.items()
    ]


def naive_promotions(world: dict[str, list[Row]]) -> list[Row]:
    found: dict[tuple[date, str | None], Row] = {}

    def cell(row: Row) -> Row:
        nothing = {"impressions": 0, "clicks": 0, "clicking": set(), "converting": set()}
        return found.setdefault((row["day"], row["promotion_id"]), nothing)

    for row in world["promotion_impressions"]:
        cell(row)["impressions"] += 1
    for row in world["promotion_clicks"]:
        of = cell(row)
        of["clicks"] += 1
        of["clicking"].add(row["visitor_id"])
        for order in world["next_orders"]:
            passed = order["event_time"] - row["event_time"]
            if order["visitor_id"] == row["visitor_id"] and 0 <= passed < 24 * HOUR:
                of["converting"].add(row["visitor_id"])
    return [
        {
            "day": day,
            "promotion_id": promotion,
            **{name: of[name] for name in ("impressions", "clicks")},
            **{f"{name}_visitors": len(of[name]) for name in ("clicking", "converting")},
        }
        for (day, promotion), of in found.items()
    ]


def naive_dimensions(world: dict[str, list[Row]]) -> list[Row]:
    values = {row["conversion_id"]: row["custom_dimensions"] for row in world["conversions"]}
    found: dict[tuple[Any, ...], Row] = defaultdict(
        lambda: {"visits": 0, "conversions": 0.0, "credit": 0, "money": Decimal(0)}
    )
    for row, name in product(world["sessions"], ("device", "plan")):
        for model in MODELS:
            found[row["day"], name, value_of(row["custom_dimensions"], name), row["channel"], model][
                "visits"
            ] += 1
    for row, name in product(world["attribution"], ("device", "plan")):
        value = value_of(values.get(row["conversion_id"]), name)
        of = found[row["day"], name, value, row["channel"], row["model"]]
        of["conversions"] += 0 if row["is_counted"] is False else row["credit"]
        of["credit"] += 0 if row["is_counted"] is False else round(row["credit"] * 1e15)
        of["money"] += row["credited_reporting_value"] or 0
    visits: Counter[tuple[Any, ...]] = Counter()
    credit: Counter[tuple[Any, ...]] = Counter()
    for (day, name, value, _, model), row in found.items():
        visits[day, name, value] += row["visits"] if model == "first" else 0
        credit[day, name, value] += row["credit"]
    by_rank: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for day, name, value in sorted(visits, key=lambda each: (-visits[each], -credit[each], str(each[2]))):
        if value is not None:
            by_rank[day, name].append(value)
    summed: dict[tuple[Any, ...], Row] = {}
    for (day, name, value, channel, model), row in found.items():
        shown = value if value in (None, *by_rank[day, name][: RULES["max_values"]]) else "(other)"
        of = summed.setdefault((day, name, shown, channel, model), dict.fromkeys(row, 0))
        for measure in row:
            of[measure] += row[measure]
    keys = ("day", "dimension", "value", "channel", "model")
    return [
        {**dict(zip(keys, key, strict=True)), "visits": row["visits"], "conversions": row["conversions"],
         "credited_reporting_value": Decimal(row["money"])}
        for key, row in summed.items()
    ]  # fmt: skip


def value_of(text: str | None, name: str) -> str | None:
    found: str | None = json.loads(text or "{}").get(name)
    return found


NAIVE = {
    "dimension_performance": naive_dimensions,
    "result_performance": naive_results,
    "promotion_performance": naive_promotions,
    "funnel": naive_funnel,
    "funnel_by_dimension": naive_funnel_by_dimension,
    "search_performance": naive_searches,
    "campaign_performance": naive_campaigns,
}


def assert_as_naive_count(spark: SparkSession, name: str, world: dict[str, list[Row]]) -> None:
    found, wanted = in_spark(spark, name, world), _sorted(NAIVE[name](world))
    for rows in (found, wanted):
        for row in rows:
            row["conversions"] = round(row.get("conversions", 0), 9)
    assert found == _sorted(wanted)


@given(world=worlds())
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_daily_queries_match_naive_counts(session: SparkSession, world: dict[str, list[Row]]) -> None:
    for name in NAIVE:
        assert_as_naive_count(session, name, world)


def example() -> dict[str, list[Row]]:
    """Input rows of which each query has results of every kind."""
    rows: dict[str, list[Row]] = {}
    for number, (name, types) in enumerate(TYPES.items()):
        rows[name] = []
        for place in range(40):
            pick = place + number
            row = dict.fromkeys(types) | {
                "day": date(2026, 3, 1) + timedelta(days=place % 2),
                "event_time": place * 7 % 40 * 10 + number,
                "visitor_id": "abc"[place % 3],
                "event_id": f"e{number}-{place}",
                "first_event_id": f"e{number}-{place}",
                "role": ("impression", "page_view", "search")[pick % 3],
                "query": ("shoe", None)[pick % 2],
                "outcome": ("clicked", "orphan")[pick % 5 == 0],
                "clicked_products": [f"p{each}" for each in range(pick % 14)],
                "clicks": pick % 14,
                "rank": pick % 4,
                "model": list(MODELS)[pick % len(MODELS)],
                "credit": (1 / 3, 0.1, 1.0)[pick % 3],
                "is_counted": (True, False, None)[pick % 7 % 3],
                "credited_reporting_value": (Decimal("1.2345"), None)[pick % 2],
                "reporting_cost": (Decimal("7.0001"), Decimal("0.3"), None)[(place + 1) // 14],
                "campaign_name": ("spring", None)[pick % 2],
                "channel": ("Direct", "Email")[pick % 2],
                "conversion_id": f"c{place if name == 'conversions' else pick}",
                "custom_dimensions": (None, json.dumps({"device": "abcde"[pick % 5]}))[pick % 3 > 0],
                "promotion_id": ("banner", None)[pick % 3 == 0],
            }
            rows[name].append({each: row[each] for each in types})
    return rows


@pytest.mark.parametrize("name", NAIVE)
def test_rows_of_every_kind_match_naive_count(session: SparkSession, name: str) -> None:
    assert in_spark(session, name, example())
    assert_as_naive_count(session, name, example())


def test_20000_conversions_of_a_campaign_on_a_day_do_not_overflow(session: SparkSession) -> None:
    """A 64-bit sum of credits in units of 1e-15 would overflow at 9,223 conversions."""
    row = {"day": date(2026, 3, 1), "event_time": 0, "model": "first", "credit": 1.0, "is_counted": True}
    world: dict[str, list[Row]] = {name: [] for name in TYPES} | {"attribution": [row] * 20_000}
    (found,) = in_spark(session, "campaign_performance", world)
    assert found["conversions"] == 20_000
