"""Credit of the whole history: conversions, attribution and trails, in two passes over groups."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.amounts import Amount
from folds.persons.conversions import Anchored, anchor_conversions
from folds.persons.fold import PersonRules, credit_anchored
from folds.persons.records import Goal, Impression, PageView, Touch, View, Visit
from gold.credit.visit_pages import COLUMNS as PAGE_COLUMNS
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.rows.driver_or_spark import KEY
from lakehouse.rows.grouped import GroupedRows, Groups, batch_of_kind, map_groups, union_by_kind

TABLES = (CONVERSIONS, ATTRIBUTION, TRAILS)
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
_ROWS = pa.schema([pa.field(table.short_name, pa.struct(list(arrow_schema(table)))) for table in TABLES])


def with_person(rows: DataFrame, identities: DataFrame) -> DataFrame:
    """Add `person_id`: the visitor's user id, else the visitor.

    Args:
        rows: with visitor_id.
        identities: silver.identities.
    """
    users = identities.select("visitor_id", F.col("user_id").alias("_user"))
    named = rows.join(users, "visitor_id", "left")
    return named.withColumn("person_id", F.coalesce("_user", "visitor_id")).drop("_user")


def all_credit(
    goals: DataFrame, touches: DataFrame, pages: DataFrame, watermark: int, rules: PersonRules
) -> Groups:
    """Compute credit of all goals.

    Args:
        goals: every goal event, with person_id, which is null for events of bots.
        touches: every touch, with person_id.
        pages: every page view of the visitors with goals, with person_id.
        watermark: the watermark, in microseconds.
        rules: the rules in force.

    Returns:
        Structs of the rows of `TABLES`, by their short names; not computed yet.
    """
    by_order = goals.withColumn(KEY, F.coalesce("order_id", "conversion_id")).select(KEY, *_COLUMNS)
    pairs = map_groups(union_by_kind({"goal": by_order}), _Anchors(rules), _PAIRS).select("pair.*")
    kinds = {
        "pair": pairs.withColumn(KEY, F.col("anchor.person_id")),
        "touch": touches.select(F.col("person_id").alias(KEY), *TOUCHES.column_names),
        "page": pages.select(F.col("person_id").alias(KEY), *PAGE_COLUMNS),
    }
    return Groups(kinds, _Credit(watermark, rules), _ROWS)


class _Anchors:
    """The fold over orders: pairs of conversion and anchor, from the goals that share an order."""

    def __init__(self, rules: PersonRules) -> None:
        self._rules = rules

    def __call__(self, by_order: GroupedRows) -> Iterator[pa.RecordBatch]:
        groups = by_order.rows("goal", Goal, visit=Visit).values()
        rows = [
            (each.conversion[:-1], each.anchor[:-1], *each[2:])
            for goals in groups
            for each in anchor_conversions(goals, self._rules.orders, self._rules.rates)
        ]
        yield batch_of_kind(_PAIRS, "pair", rows)


class _Credit:
    """The fold over persons: rows of `TABLES`, from a person's anchors, touches and page views."""

    def __init__(self, watermark: int, rules: PersonRules) -> None:
        self._watermark = watermark
        self._rules = rules

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        touches, pages = (
            groups.rows("touch", Touch, impression=Impression, view=View),
            groups.rows("page", PageView),
        )
        found: list[list[Any]] = [[], [], []]
        nested = {"conversion": _goal, "anchor": _goal, "amount": _amount}
        for person, pairs in groups.rows("pair", Anchored, **nested).items():
            mine = {person: touches.get(person, ())}
            now = credit_anchored(pairs, mine, pages.get(person, ()), self._watermark, self._rules)
            found[0] += now.conversions
            found[1] += now.attribution
            for step in now.trails:
                found[2].append(step)
                if len(found[2]) >= _PORTION:
                    yield batch_of_kind(_ROWS, TRAILS.short_name, found[2])
                    found[2] = []
        for kind, rows in zip(_ROWS.names, found, strict=True):
            if rows:
                yield batch_of_kind(_ROWS, kind, rows)


def _amount(**fields: Any) -> Amount:
    return Amount(**fields)


def _goal(**fields: Any) -> Goal:
    visit = fields.pop("visit")
    return Goal(**fields, visit=None if visit is None else Visit(**visit))
