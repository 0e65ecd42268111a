"""Page views of visits with conversions, as input of the fold over persons."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.groups import GoalGroups
from folds.persons.records import Goal
from folds.visitors.events import PAGE_VIEW
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.driver_or_spark import KEY, Rows, Source, local_rows, with_columns_of
from lakehouse.rows.time_pruner import TimePruner

COLUMNS = ("visitor_id", "event_id", "event_time", "url", "referrer")
"""Columns of silver.events, in the order of the fields of `PageView`."""

_OF_VISITOR = [pa.field("visitor_id", pa.string()), pa.field(KEY, pa.string())]


def visit_pages(source: Source, goals: Iterable[Goal], groups: GoalGroups) -> Rows | None:
    """Look up the page views of the goals' visits, each page view once; None if no goal has a visit.

    Args:
        source: reads the tables.
        goals: goals, with their visits.
        groups: the groups of the goals.

    Returns:
        `KEY`, the goal's group, and `COLUMNS`. Page views of other visits may be among the rows.
    """
    visited = [goal for goal in goals if goal.visit is not None]
    if not visited:
        return None
    spans = TimePruner.of_spans((goal.visit.at, goal.converted_at) for goal in visited if goal.visit)
    group = {goal.visitor_id: groups.of_conversion(goal.conversion_id) for goal in visited}
    wanted = Lookup((*COLUMNS, "role"), spans, "event_time", key=("visitor_id", group))
    pages = page_views(source.look_up(EVENTS.name, wanted))
    return with_columns_of(pages, "visitor_id", local_rows(_OF_VISITOR, list(group.items())), (KEY, *COLUMNS))


def page_views(events: Rows) -> Rows:
    """The events that count as page views."""
    if isinstance(events, DataFrame):
        return events.where(F.col("role") == PAGE_VIEW)
    return events.filter(pc.equal(events["role"], PAGE_VIEW))
