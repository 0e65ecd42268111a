"""People by their first touch: how many came back, and what they were worth after some days."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
from query_scope import Scope
from tables.query import Measure, Query, sum_seen, sums
from tables.table_cache import Ask

AGES = (7, 30, 90)
"""Days after the first touch."""

BY = {"Week": "cohort_week", "Channel": "channel", "Campaign": "campaign_name"}
"""What people are grouped by: columns of gold.persons."""

_TABLE = "gold.persons"
_WEEK = timedelta(days=7)
_TOTALS = {"age": pl.Int64, "people": pl.Int64, "returning": pl.Int64, "value": pl.Float64}
_NO_CAMPAIGN = "no campaign"


@dataclass(frozen=True)
class Cohorts:
    """Groups of people.

    Args:
        people: number of people.
        ages: age (in days), people (whose cohort is that old), returning, value; totals. Returning and value
            are null, here and by group, if the viewer's role does not see them.
        groups: group, people (all), and by age: of_AGE (those whose cohort is that old), returning_AGE (the
            share of these), value_AGE (per person); null while no cohort is that old.
    """

    people: int
    ages: pl.DataFrame
    groups: pl.DataFrame


def cohorts(ask: Ask, scope: Scope, end: datetime, by: str, unseen: frozenset[str]) -> Cohorts:
    """Group the people whose first touch has a channel and campaign in scope.

    Args:
        ask: runs queries.
        scope: channels, campaigns and the time zone of weeks; the period does not apply.
        end: end of the data. A cohort counts for an age if everybody in it was that old by then.
        by: a column of `BY`.
        unseen: columns of gold.persons that the viewer's role does not see.
    """
    columns = tuple(dict.fromkeys(("cohort_week", by)))
    people = Query(_TABLE, columns, (Measure("people", "count"), *sums(*(f"value_{age}" for age in AGES))))
    people = people.one_of("channel", scope.channels).one_of("campaign_name", scope.campaigns)
    rows = ask(people).with_columns(pl.col(f"value_{age}").cast(pl.Float64) for age in AGES)
    for age in AGES:
        back = Query(_TABLE, columns, (Measure(f"returning_{age}", "count"),), people.where)
        found = ask(back.only(f"returns_{age}", ">", 0))
        rows = rows.join(found, on=columns, how="left", nulls_equal=True)
        if f"returns_{age}" not in unseen:
            rows = rows.with_columns(pl.col(f"returning_{age}").fill_null(0))
    zone = ZoneInfo(scope.period.zone)
    ended = {age: (end - timedelta(days=age)).astimezone(zone).date() for age in AGES}
    return _grouped(rows, ended, by)


def _grouped(rows: pl.DataFrame, ended: Mapping[int, date], by: str) -> Cohorts:
    """Group people; by age, a week counts if it had ended by a day."""
    named = rows.with_columns(_group(by).alias("group"))
    totals, groups = [], named.group_by("group").agg(pl.col("people").sum())
    for age in AGES:
        old = named.filter(pl.col("cohort_week") + _WEEK <= ended[age])
        sums_ = [sum_seen(name) for name in ("people", f"returning_{age}", f"value_{age}")]
        totals.append({"age": age, **_renamed(old.select(sums_).row(0))})
        of_age = (
            old.group_by("group")
            .agg(sums_)
            .select(
                "group",
                pl.col("people").alias(f"of_{age}"),
                (pl.col(f"returning_{age}") / pl.col("people")).alias(f"returning_{age}"),
                (pl.col(f"value_{age}") / pl.col("people")).alias(f"value_{age}"),
            )
        )
        groups = groups.join(of_age, "group", "left")
    order = ["group"] if by == "cohort_week" else ["people", "group"]
    return Cohorts(
        int(rows["people"].sum()),
        pl.DataFrame(totals, _TOTALS),
        groups.sort(order, descending=[by != "cohort_week", False][: len(order)]),
    )


def _renamed(row: tuple[object, ...]) -> dict[str, object]:
    return dict(zip(("people", "returning", "value"), row, strict=True))


def _group(by: str) -> pl.Expr:
    if by == "cohort_week":
        return pl.col(by).dt.strftime("%Y-%m-%d")
    return pl.col(by).fill_null(_NO_CAMPAIGN)
