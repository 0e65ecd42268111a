"""What several folders of tests share."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark application of the tests."""
    from kit.spark import spark_application

    with spark_application(tmp_path_factory.mktemp("spark")) as session:
        yield session
