"""Credit: conversions, attribution and trails, in two passes over groups of goals.

Orders are shared by persons, and persons have several orders. So the first pass is by order and finds each
conversion's anchor and value; the second is by the anchor's person and shares the credit.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.amounts import Amount
from folds.persons.conversions import Anchored, anchor_conversions
from folds.persons.exchange_rates import Rate
from folds.persons.fold import PersonRules, credit_anchored
from folds.persons.records import Goal, Impression, PageView, Touch, View, Visit
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.rows.grouped import KEY, GroupedRows, batch_of_kind, map_groups, with_key

TABLES = (CONVERSIONS, ATTRIBUTION, TRAILS)
PAGE_COLUMNS = ("visitor_id", "event_id", "event_time", "url", "referrer")
"""Columns of silver.events, in the order of the fields of `PageView`."""

_PORTION = 50_000  # rows of trails per Arrow batch
_COLUMNS = Goal._fields[:-1]
_GOAL = pa.struct([arrow_schema(CONVERSIONS).field(name) for name in _COLUMNS])
_AMOUNT = pa.struct([arrow_schema(CONVERSIONS).field(name) for name in Amount._fields])
_PAIR = pa.struct(
    [
        pa.field("conversion", _GOAL),
        pa.field("anchor", _GOAL),
        pa.field("amount", _AMOUNT),
        pa.field("is_counted", pa.bool_()),
    ]
)
_PAIRS = pa.schema([pa.field("pair", _PAIR)])
ROWS = pa.schema([pa.field(table.short_name, pa.struct(list(arrow_schema(table)))) for table in TABLES])


def credit(
    goals: DataFrame,
    rates: DataFrame,
    touches: DataFrame,
    pages: DataFrame,
    watermark: int,
    rules: PersonRules,
) -> DataFrame:
    """Compute conversions, attribution and trails.

    Args:
        goals: columns of `Goal`: all goals of each order; person_id is null for events of bots.
        rates: silver.exchange_rates.
        touches: at least the touches in the look-back of the goals, with person_id.
        pages: `PAGE_COLUMNS` of at least the page views of the goals' visits, with person_id.
        watermark: in microseconds.
        rules: the rules in force.

    Returns:
        Structs of the rows of `TABLES`, by their short names; not computed yet.
    """
    by_order = F.coalesce("order_id", "conversion_id")
    of_order = {
        "goal": with_key(goals, by_order, Goal._fields),
        "rate": _rates_of_orders(goals.withColumn(KEY, by_order), rates),
    }
    pairs = map_groups(of_order, _AnchorFold(rules), _PAIRS).select("pair.*")
    of_person = {
        "pair": with_key(pairs, F.col("anchor.person_id"), [field.name for field in _PAIR]),
        "touch": with_key(touches, "person_id", TOUCHES.column_names),
        "page": with_key(pages, "person_id", PAGE_COLUMNS),
    }
    return map_groups(of_person, _CreditFold(watermark, rules), ROWS)


def _rates_of_orders(goals: DataFrame, rates: DataFrame) -> DataFrame:
    """`KEY` and columns of `Rate`: the rates of the currencies of an order's goals, at the times of these."""
    span = goals.groupBy(KEY).agg(
        F.min("converted_at").alias("_low"),
        F.max("converted_at").alias("_high"),
        F.collect_set(F.upper("currency")).alias("_currencies"),
    )
    wanted = F.broadcast(span.select(KEY, "_low", "_high", F.explode("_currencies").alias("_currency")))
    is_valid = (rates["valid_from"] <= wanted["_high"]) & (
        rates["valid_to"].isNull() | (rates["valid_to"] > wanted["_low"])
    )
    return rates.join(wanted, (rates["currency"] == wanted["_currency"]) & is_valid).select(
        KEY, *Rate._fields
    )


class _AnchorFold:
    """The fold over orders: pairs of conversion and anchor, from the goals that share an order."""

    def __init__(self, rules: PersonRules) -> None:
        self._rules = rules

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        rates = groups.rows("rate", Rate)
        rows = [
            (each.conversion[:-1], each.anchor[:-1], *each[2:])
            for order, goals in groups.rows("goal", Goal, visit=Visit).items()
            for each in anchor_conversions(
                goals, self._rules.orders, self._rules.rates.with_rates(rates.get(order, ()))
            )
        ]
        yield batch_of_kind(_PAIRS, "pair", rows)


class _CreditFold:
    """The fold over persons: rows of `TABLES`, from a person's anchors, touches and page views."""

    def __init__(self, watermark: int, rules: PersonRules) -> None:
        self._watermark = watermark
        self._rules = rules

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        touches = groups.rows("touch", Touch, impression=Impression, view=View)
        pages = groups.rows("page", PageView)
        found: list[list[Any]] = [[], [], []]
        nested = {"conversion": _goal, "anchor": _goal, "amount": _amount}
        for person, pairs in groups.rows("pair", Anchored, **nested).items():
            mine = {person: touches.get(person, ())}
            now = credit_anchored(pairs, mine, pages.get(person, ()), self._watermark, self._rules)
            found[0] += now.conversions
            found[1] += now.attribution
            for step in now.trails:  # a visit has up to (page views x goals) rows
                found[2].append(step)
                if len(found[2]) >= _PORTION:
                    yield batch_of_kind(ROWS, TRAILS.short_name, found[2])
                    found[2] = []
        for kind, rows in zip(ROWS.names, found, strict=True):
            if rows:
                yield batch_of_kind(ROWS, kind, rows)


def _amount(**fields: Any) -> Amount:
    return Amount(**fields)


def _goal(**fields: Any) -> Goal:
    visit = fields.pop("visit")
    return Goal(**fields, visit=None if visit is None else Visit(**visit))
