"""Settings that jobs set while they run, on a server of Spark Connect, which refuses static ones."""

from typing import Any

import pytest
from pyspark.errors import PySparkException

from gold.traffic import traffic_progress
from kit.catalog_server import CatalogServer
from lakehouse.delta import commit_metadata, merge_session
from lakehouse.erasure import purge
from lakehouse.maintenance import spark_table
from lakehouse.readers.sql_warehouse import SparkConnect
from lakehouse.run import batch_settings

pytestmark = pytest.mark.long
NEEDED = {
    commit_metadata._USER_METADATA: "{}",
    f"{commit_metadata._WRITE_OPTIONS}txnAppId": "gold.touches",
    f"{commit_metadata._WRITE_OPTIONS}txnVersion": "1",
    traffic_progress._SKIP_EMPTY_COMMITS: "false",
    **merge_session._SETTINGS,
    **purge._NOW,
}
"""A job fails where one of these is refused."""
LEFT_OUT = {
    **batch_settings._INTERPRETED,
    **batch_settings._WITHOUT_BROADCASTS,
    batch_settings._PARTITIONS: "2",
    **spark_table._SETTINGS,
    f"{spark_table._OPTIMIZE}.maxFileSize": "1",
}
"""A job leaves these out where they are refused."""


@pytest.fixture(scope="module")
def session(catalog: CatalogServer) -> Any:
    """A session of its own."""
    return SparkConnect(catalog.address).session()


@pytest.mark.parametrize(("name", "value"), {**NEEDED, **LEFT_OUT}.items())
def test_setting_is_accepted(session: Any, name: str, value: str) -> None:
    session.conf.set(name, value)
    assert session.conf.get(name) == value


@pytest.mark.parametrize("name", ["spark.sql.extensions", "spark.sql.warehouse.dir"])
def test_static_setting_is_refused(session: Any, name: str) -> None:
    with pytest.raises(PySparkException, match="CANNOT_MODIFY"):
        session.conf.set(name, "other")
