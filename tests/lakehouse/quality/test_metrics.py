"""Counts of expectations over several frames, in one Spark job."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.quality.metrics import IS_RECORD, SOURCE, SuiteMetrics, count_rows
from lakehouse.quality.sql_conditions import IN_SET, NOT_NULL, REGEX, ROW_COUNT
from lakehouse.quality.suites import HOURS, RECORDS, ROWS, Expectation
from lakehouse.run.batch_counters import BatchCounter, TableCounter


def filled(table: str, column: str, of: str = ROWS) -> Expectation:
    return Expectation(table, f"{column} of {of}", NOT_NULL, "stop", column, of=of)


ALL = Expectation("a", "all", ROW_COUNT, "stop", arguments={"value": {"$PARAMETER": "sent"}}, of=RECORDS)
SEVEN = Expectation("a", "seven", ROW_COUNT, "stop", arguments={"value": 7})


def frames(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    rows = [("a", True, 1), ("a", True, None), ("a", False, None), ("b", True, None), ("b", True, 2)]
    records = spark.createDataFrame(rows, f"{SOURCE} string, {IS_RECORD} boolean, x int")
    return records, spark.createDataFrame([(1.0,), (None,)], "volume double")


def test_frames_are_counted_in_one_spark_job(spark: SparkSession) -> None:
    session = spark.newSession()
    records, hours = frames(session)
    suite = SuiteMetrics([filled("a", "x"), filled("b", "x"), filled("b", "x", RECORDS), ALL, SEVEN])
    of_hours = SuiteMetrics([filled("a", "volume", HOURS)])
    counter = BatchCounter(session, TableCounter())
    found = count_rows([(suite, records), (of_hours, hours)], {"sent": 6})
    assert counter.counts().spark_jobs == 1
    assert found == {
        "a: x of rows": (3, 2),
        "b: x of rows": (2, 1),
        "b: x of records": (4, 2),
        "a: all": (6, 2),
        "a: seven": (7, 4),
        "a: volume of hours": (2, 1),
    }


def test_backslash_of_a_pattern_means_the_same_in_spark_as_in_the_suite(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("7",), ("77",), ("d",), (r"\\d",)], "x string")
    digits = Expectation("a", "digits", REGEX, "stop", "x", arguments={"regex": r"^\d+$"})
    among = Expectation("a", "among", IN_SET, "stop", "x", arguments={"value_set": ["7", r"\\d"]})
    source = rows.select(F.lit("a").alias(SOURCE), F.lit(True).alias(IS_RECORD), "x")
    assert count_rows([(SuiteMetrics([digits, among]), source)]) == {"a: digits": (4, 2), "a: among": (4, 2)}


def test_no_rows_count_as_zero(spark: SparkSession) -> None:
    records, _ = frames(spark)
    found = count_rows([(SuiteMetrics([filled("a", "x"), ALL]), records.where(F.lit(False)))], {"sent": 0})
    assert found == {"a: x of rows": (0, 0), "a: all": (0, 0)}


def test_nothing_is_counted_without_suites() -> None:
    assert count_rows([]) == {}
    assert not SuiteMetrics([])
