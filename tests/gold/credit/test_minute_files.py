"""Files of gold.visitor_minutes after a rebuild."""

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gold import rebuild_definitions
from kit.records import NOON
from kit.spark import empty_home
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.run.job import JobContext

pytestmark = pytest.mark.long


def test_rebuilt_files_have_disjoint_minute_ranges(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With overlapping ranges a look-up by time would read every file, however long the history."""
    monkeypatch.setattr(rebuild_definitions, "MAX_ROWS_PER_FILE", 20)
    settings = empty_home(spark, tmp_path)
    at = F.lit(NOON) + F.make_dt_interval(mins=F.pmod(F.xxhash64("id"), F.lit(1_000)).cast("int"))
    known = {"visitor_id": F.col("id").cast("string"), "minute": at, "by_events": F.lit(True)}
    rows = spark.range(100).select(
        *(
            known.get(column.name, F.lit(0)).cast(column.type).alias(column.name)
            for column in VISITOR_MINUTES.columns
        )
    )
    run = JobContext("rebuild", spark.newSession(), settings, once=True)
    rebuild_definitions.RebuildInputs(run).append_minutes(rows.drop("sequence"))
    files = pa.table(
        DeltaTable(settings.warehouse / "gold" / "visitor_minutes").get_add_actions(flatten=True)
    )
    ranges = sorted(zip(files["min.minute"].to_pylist(), files["max.minute"].to_pylist(), strict=True))
    assert len(ranges) > 3
    assert all(high < low for (_, high), (low, _) in pairwise(ranges))
