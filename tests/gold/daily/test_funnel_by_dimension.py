"""gold.funnel_by_dimension: visitors' values as of their first event of a day, also when that comes late."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, empty_tables, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, record
from kit.spark import empty_home
from lakehouse.contracts.daily import FUNNEL_BY_DIMENSION
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from millrace.operations.rebuild import definitions

pytestmark = pytest.mark.long

HOUR = timedelta(hours=1)
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148"
DAY = date(2026, 3, 2)


def sent(uid: str, visitor: str, kind: str, hour: float, agent: str | None = BROWSER) -> Record:
    """An event so many hours after the noon before `DAY`."""
    context = {"page": {"url": "https://shop.example/"}, **({"userAgent": agent} if agent else {})}
    properties = {"promotion_id": "banner"} if kind.startswith("Promotion") else {}
    body = message(uid, visitor, kind, NOON + hour * HOUR, context=context, properties=properties)
    return record(body)


def seen(visitor: str, hour: float, agent: str | None = BROWSER) -> list[Record]:
    """A promotion that is viewed and clicked."""
    return [
        sent(f"{visitor}-{kind}-{hour}", visitor, f"Promotion {kind}", hour + place / 100, agent)
        for place, kind in enumerate(("Viewed", "Clicked"))
    ]


def by_device(settings: Settings, day: date = DAY) -> dict[tuple[str | None, str], int]:
    columns = ("day", "dimension", "value", "step", "visitors")
    rows: list[dict[str, Any]] = read_rows(settings, FUNNEL_BY_DIMENSION.name, columns)
    return {
        (row["value"], row["step"]): row["visitors"]
        for row in rows
        if (row["day"], row["dimension"]) == (day, "device") and row["visitors"]
    }


def steps(value: str | None, viewed: int, clicked: int) -> dict[tuple[str | None, str], int]:
    return {(value, "impression"): viewed, (value, "click"): clicked}


def test_late_first_event_moves_visitor_to_its_value(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)

    def arrive(*records: Record) -> dict[tuple[str | None, str], int]:
        bronze.commit(records)
        run_jobs(spark, settings)
        assert_as_the_oracle(settings, Oracle.over(bronze.stored), "gold")
        return by_device(settings)

    # ann's visit goes on over midnight; nobody's agent is known, and bot is none yet
    night = [sent("ann-0", "ann", "page", 11.8, PHONE), sent("ann-1", "ann", "page", 12.1, BROWSER)]
    first = arrive(*night, *seen("ann", 12.2), *seen("ben", 20), *seen("nobody", 21, None))
    assert first == steps("desktop", 2, 2) | steps(None, 1, 1)
    # a late event of no step starts ben's visit, from a telephone; another is of the day before
    late = arrive(
        sent("ben-0", "ben", "Opened", 19.9, PHONE), sent("nobody-0", "nobody", "page", 11.5, PHONE)
    )
    assert late == steps("desktop", 1, 1) | steps("phone", 1, 1) | steps(None, 1, 1)
    crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    without_bot = arrive(sent("ann-9", "ann", "page", 40, crawler))
    assert without_bot == steps("phone", 1, 1) | steps(None, 1, 1)
    empty_tables(settings, [FUNNEL_BY_DIMENSION.name])
    job = rebuild_job(definitions(), (FUNNEL_BY_DIMENSION.name,))
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert by_device(settings) == without_bot
