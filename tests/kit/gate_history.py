"""Earlier evaluations of the gate, which expectations with a margin are compared with."""

from datetime import timedelta

from pyspark.sql import SparkSession

from kit.records import NOON
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.quality.evaluation import Result
from lakehouse.quality.results import rows_of, write_results
from lakehouse.quality.suites import load_suites
from lakehouse.settings import Settings


def add_history(spark: SparkSession, settings: Settings, name: str, evaluations: int = 5) -> None:
    """Write evaluations of an expectation to a home, each of 1,000 rows of which 100 violate it.

    Args:
        spark: a session.
        settings: those of the home.
        name: of the expectation, after its table: `silver.events: orders have a number`.
        evaluations: how many; five are enough for a history.
    """
    suites = load_suites(settings.conf).values()
    (expectation,) = (each for suite in suites for each in suite.expectations if each.id == name)
    lake = Lakehouse(spark.newSession(), settings, "publish")
    for number in range(evaluations):
        at = NOON - timedelta(days=2) + number * timedelta(minutes=1)
        write_results(lake, rows_of("publish", at, at, [Result(expectation, True, 1000, 100, 0.1)]))
