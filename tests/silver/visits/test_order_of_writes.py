"""Search results are written after the events that they are computed from, also in a crash."""

from pathlib import Path

from pyspark.sql import SparkSession

from kit.dying import dying_at
from kit.pipeline import read_rows, run_jobs
from kit.records import NOON, Bronze, message, record
from kit.spark import empty_home
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.silver import EVENTS


def test_search_results_are_not_written_before_their_events(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    found = {"query": "boots", "products": [{"product_id": "a"}]}
    search = message("search", "v", "Products Searched", NOON, properties=found)
    Bronze(spark, settings).commit([record(search)])
    with dying_at(EVENTS.name):
        run_jobs(spark, settings, "refine")
    assert read_rows(settings, SEARCH_RESULTS.name, ("product_id",)) == []
    run_jobs(spark, settings, "refine")
    assert read_rows(settings, SEARCH_RESULTS.name, ("product_id",)) == [{"product_id": "a"}]
