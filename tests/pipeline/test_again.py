"""Running everything a second time adds nothing."""

from pathlib import Path

from pyspark.sql import SparkSession

from bronze.job import ingest
from kit.home import Home
from kit.pipeline import run_jobs
from kit.spark import forget_tables
from kit.tables import versions
from lakehouse.contracts import TABLES
from lakehouse.contracts.channel_credit import CHANNEL_CREDIT
from lakehouse.contracts.gold import BOT_REFUNDS
from lakehouse.contracts.ops import GATES, READS
from lakehouse.run.job import JobContext


def test_a_second_run_on_the_same_input_commits_nothing(
    spark: SparkSession, caught_up_home: Home, tmp_path: Path
) -> None:
    home = caught_up_home.copy(tmp_path / "home")
    before = versions(home)
    of_others = {CHANNEL_CREDIT.name, READS.name}
    assert set(before) == set(TABLES) - of_others, "which a scheduled job and readers fill"
    empty = {name for name, (_, rows) in before.items() if not rows}
    assert empty == {GATES.name, BOT_REFUNDS.name}, "no gate was closed, no refund a bot's"
    forget_tables(spark)
    ingest(JobContext("ingest", spark.newSession(), home.settings, once=True))
    run_jobs(spark, home.settings)
    assert versions(home) == before
