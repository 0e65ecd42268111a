"""Jobs that die between two commits and run again with more input lose and duplicate nothing."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.dying import dying_at
from kit.folding import assert_changes_fold
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import NOON, Bronze, Record, message, record
from kit.spark import empty_home

MINUTES = timedelta(minutes=1)
SALE = {"order_id": "sale", "total": "0.0001", "currency": "EUR"}
SHOWN = [{"product_id": "shoe"}, {"product_id": "boot"}]
PAGE = "https://shop.example/"


class VisitorStory:
    """Records of one story, whose ids a prefix makes unique."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def send(self, uid: str, kind: str, minute: float, visitor: str = "v", **properties: Any) -> Record:
        if "order_id" in properties:
            properties["order_id"] = self.prefix + properties["order_id"]
        at = NOON + minute * MINUTES
        body = message(self.prefix + uid, self.prefix + visitor, kind, at, properties=properties)
        return record({**body, "context": {"page": {"url": PAGE}}})

    def identify(self, uid: str, minute: float, visitor: str) -> Record:
        """An identify event of the visitor."""
        at = NOON + minute * MINUTES
        return record(
            message(self.prefix + uid, self.prefix + visitor, "identify", at, userId=self.prefix + "u")
        )

    def exposures(self, uid: str, minute: float) -> list[Record]:
        """A promotion and the results of a search, seen and clicked."""
        return [
            self.send(f"{uid}-seen", "Promotion Viewed", minute, promotion_id="p"),
            self.send(f"{uid}-click", "Promotion Clicked", minute + 0.1, promotion_id="p"),
            self.send(f"{uid}-search", "Products Searched", minute, query="boots"),
            self.send(f"{uid}-list", "Product List Viewed", minute + 0.05, query="boots", products=SHOWN),
            self.send(f"{uid}-result", "Product Clicked", minute + 0.1, product_id="boot"),
        ]

    def before(self, day: float) -> list[Record]:
        """An order, a visit and a duplicate."""
        visit = [self.send("a", "page", day), self.send("b", "Promotion Clicked", day, promotion_id="p")]
        return [*visit, self.send("o2", "Order Completed", day + 20, "w", **SALE), visit[0]]

    def interrupted(self, day: float, clock: float) -> list[Record]:
        """An earlier event of the same order, visits closed by the watermark, a rejected record, a duplicate.

        Also exposures, on time and late.
        """
        sale = self.send("o1", "Order Completed", day + 15, **SALE)
        gone = [self.send("c", "page", clock + 60), self.send("c2", "page", clock + 60, "x")]
        gone.append(self.identify("i", clock + 61, "x"))
        clock_mover = self.send("d", "page", clock + 300, "y")
        gone += [*self.exposures("on-time", clock + 61), *self.exposures("late", day + 2)]
        return [sale, *gone, clock_mover, record("not json"), self.send("a", "page", day)]

    def after(self, day: float, clock: float) -> list[Record]:
        """A still earlier event of the order, events that extend closed visits, and duplicates."""
        sale = self.send("o0", "Order Completed", day + 1, "z", **SALE)
        joins = [*self.exposures("later", clock + 62), *self.exposures("also", day + 1)]
        joins += [self.send("e", "page", clock + 80), self.send("f", "page", clock + 100, "x")]
        return [sale, *joins, self.send("d", "page", clock + 300, "y"), self.send("c", "page", clock + 60)]


CASES = [
    (["refine"], "silver.events"),
    (["refine"], "silver.sessions"),
    (["refine"], "silver.impressions"),
    (["refine"], "silver.search_results"),
    (["refine"], "ops.ledger"),
    (["refine", "repair"], "silver.impressions"),
    (["refine", "repair"], "silver.searches"),
    (["refine", "repair"], "silver.search_results"),
    (["refine", "repair"], "silver.identities"),
    (["refine", "repair"], "ops.ledger"),
    (["repair", "publish"], "gold.conversions"),
    (["refine", "repair", "publish"], "gold.traffic"),
    (["refine", "repair", "publish"], "gold.trails"),
    (["refine", "repair", "publish"], "gold.visitor_minutes"),
    (["refine", "repair", "publish"], "gold.campaign_performance"),
    (["refine", "repair", "publish"], "gold.touches"),
]


@pytest.mark.long
def test_jobs_recover_from_crash_before_any_commit(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    stories = [(VisitorStory(f"{n}-"), n * 60.0, 2000 + n * 400.0) for n in range(len(CASES))]
    bronze.commit([each for story, day, _ in stories for each in story.before(day)])
    run_jobs(spark, settings)
    for (jobs, table), (story, day, clock) in zip(CASES, stories, strict=True):
        bronze.commit(story.interrupted(day, clock))
        for job in jobs[:-1]:
            run_jobs(spark, settings, job)
        with dying_at(table):
            run_jobs(spark, settings, jobs[-1])
        bronze.commit(story.after(day, clock))
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert assert_changes_fold(settings) == 2, "by the first run and the last: the others die before"
