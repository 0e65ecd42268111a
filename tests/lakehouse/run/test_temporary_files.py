"""Java's temporary files are in the home, where the next start removes those of killed processes."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.sql import SparkSession

from millrace.local.engine.spark_application import _remove_leftovers
from millrace.local.kafka import broker_setup
from millrace.local.kafka.broker_setup import prepare_broker


def test_spark_has_its_temporary_files_in_the_home(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    folder = Path(java.System.getProperty("java.io.tmpdir"))
    assert folder.name == "tmp"
    assert folder.parent == Path(spark.conf.get("spark.local.dir") or "")


def test_start_of_spark_removes_files_of_killed_applications_only(tmp_path: Path) -> None:
    for name in ("blockmgr-1", "spark-1", "tmp/spark-2", "derby"):
        (tmp_path / name).mkdir(parents=True)
    _remove_leftovers(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["derby"]


def test_start_of_the_broker_empties_its_folder_of_temporary_files(tmp_path: Path) -> None:
    left = tmp_path / "kafka" / "tmp" / "liblz4-java-1.so"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"library")
    (tmp_path / "kafka" / "data").mkdir()
    with patch.object(broker_setup, "own_id"):
        command = prepare_broker(tmp_path, 1).command
    assert f"-Djava.io.tmpdir={left.parent}" in command
    assert not any(left.parent.iterdir())
