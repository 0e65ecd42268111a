"""Refunds and cancellations sent by bots: they count if the order that they reverse is a person's."""

from collections.abc import Collection, Iterable

import pyarrow as pa
from pyspark.sql import functions as F

from folds.persons.records import Goal
from folds.persons.refunds import OrderRules
from folds.visitors.events import Event
from folds.visitors.goals import read_goals
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import SessionIndex
from gold.credit.dimensions import Dimensions
from gold.credit.visit_fold import all_visits
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import BOT_REFUNDS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.arrow_frames import rows_of, with_any_of
from lakehouse.rows.driver_or_spark import local_rows
from lakehouse.rows.grouped import Groups
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.microbatch import Batch
from lakehouse.timestamps import to_micros

_COLUMNS = BOT_REFUNDS.column_names


def new_bot_refunds(lake: Lakehouse, batch: Batch, dimensions: Dimensions, orders: OrderRules) -> list[Goal]:
    """Refunds and cancellations that bots sent in a micro-batch, including late ones; no person, no visit."""
    if not dimensions.bots:
        return []
    stamps = [(batch.after, batch.upto), (batch.side_input_after, batch.side_input_upto)]
    spans = [(to_micros(after) + 1, to_micros(upto)) for after, upto in stamps if after < upto]
    columns, near = Event._fields, TimePruner.of_spans(spans)
    rows = lake.find(EVENTS.name, Lookup(columns, near, "ingested_at", key=("goal", orders.reversals)))
    events = (Event(*row) for row in rows_of(rows, columns))
    theirs = [each for each in events if each.order_id is not None and each.visitor_id in dimensions.bots]
    found = read_goals(theirs, SessionIndex([]), orders.refunds.keys())
    return [Goal(**goal._asdict(), person_id=None) for goal in found]


def find_bot_refunds(lake: Lakehouse, orders: Collection[str]) -> list[Goal]:
    """Stored refunds and cancellations of bots that reverse one of the orders."""
    if not orders:
        return []
    rows = lake.find(BOT_REFUNDS.name, Lookup(_COLUMNS, key=("order_id", orders)))
    named = (dict(zip(_COLUMNS, row, strict=True)) for row in rows_of(rows, _COLUMNS))
    return [Goal(**each, person_id=None, visit=None) for each in named]


def to_rows(goals: Iterable[Goal]) -> pa.Table:
    """Rows of gold.bot_refunds."""
    rows = [tuple(getattr(goal, name) for name in _COLUMNS) for goal in goals]
    return local_rows(list(arrow_schema(BOT_REFUNDS)), rows)


def all_bot_refunds(
    lake: Lakehouse, dimensions: Dimensions, orders: OrderRules, rules: VisitorRules
) -> Groups:
    """All refunds and cancellations of bots, as goals of `gold.credit.visit_fold`; not computed yet."""
    reversing = F.col("goal").isin(*orders.reversals) & F.col("order_id").isNotNull()
    events = with_any_of(lake.read(EVENTS.name).where(reversing), "visitor_id", dimensions.bots)
    no_sessions = lake.read(SESSIONS.name).limit(0)
    return all_visits(no_sessions, events, rules)
