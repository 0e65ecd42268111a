"""Tables as lazy frames: polars without a JVM for a home, the current Spark session for a catalog."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import narwhals as nw

from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import spark_sql
from lakehouse.settings import Settings
from millrace.tables.pins import at_pinned_versions, pinned_versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
_SPARK_SESSION: ContextVar["SparkSession | None"] = ContextVar("spark_session", default=None)


@contextmanager
def reading_through(spark: "SparkSession") -> Iterator[None]:
    """Read the tables of a catalog through this Spark session during the block."""
    token = _SPARK_SESSION.set(spark)
    try:
        yield
    finally:
        _SPARK_SESSION.reset(token)


@contextmanager
def reading(settings: Settings) -> Iterator[None]:
    """Allow reading tables during the block; tables of a catalog with the current Spark session.

    Raises:
        MillraceError: if the tables are in a catalog, and there is no Spark session with that catalog.
    """
    if not settings.catalog:
        yield
        return
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from lakehouse.delta.ddl import use_catalog
    from lakehouse.run.job_session import get_or_start_session

    with get_or_start_session(settings) as spark, reading_through(spark):
        try:
            use_catalog(spark, settings.catalog)
        except (PySparkException, Py4JError):
            raise MillraceError(
                f"the Spark session has no catalog {settings.catalog}",
                "Run this on a workspace or with SPARK_REMOTE, or unset MILLRACE_CATALOG",
            ) from None  # its text is with the Java process, which may have ended when it is read
        yield


def scan(settings: Settings, name: str) -> nw.LazyFrame[Any] | None:
    """The table as a lazy frame, which reads only the needed columns and rows; None if it does not exist."""
    if settings.catalog:
        return _scan_catalog(f"{settings.catalog}.{name}", pinned_versions().get(name))
    from millrace.tables import table_reader

    frame = table_reader.scan(settings, name)
    return None if frame is None else nw.from_native(frame)


def _scan_catalog(full_name: str, version: int | None) -> nw.LazyFrame[Any] | None:
    spark = _spark_session()
    if not spark.catalog.tableExists(full_name):
        return None
    if version is None:
        return nw.from_native(spark.table(full_name))
    return nw.from_native(spark.read.option("versionAsOf", version).table(full_name))


def commits(settings: Settings, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Version and metadata of the commits to a table, the latest first; none if it does not exist."""
    if not settings.catalog:
        from millrace.tables import table_reader

        return table_reader.commits(settings, name)
    from lakehouse.delta.commit_log import read_commits

    spark, full_name = _spark_session(), f"{settings.catalog}.{name}"
    return read_commits(spark, full_name, None) if spark.catalog.tableExists(full_name) else iter(())


def query(settings: Settings, sql: str) -> list[Row]:
    """The rows of a query, in Spark's SQL on a catalog, else in DuckDB's. `"name"` quotes a name in both.

    Raises:
        MillraceError: if the query is not valid, or a table in it does not exist.
    """
    if not settings.catalog:
        from millrace.tables.duckdb_views import run_query

        return run_query(settings, sql).to_dicts()
    from lakehouse.delta.ddl import use_catalog

    spark = _spark_session()
    use_catalog(spark, settings.catalog)
    return [row.asDict(recursive=True) for row in spark.sql(spark_sql(at_pinned_versions(sql))).collect()]


def rows_of(frame: nw.LazyFrame[Any]) -> list[Row]:
    """All rows of a frame."""
    return frame.collect("pyarrow").rows(named=True)


def value_of(frame: nw.LazyFrame[Any]) -> Any:
    """The value of a frame of one row and one column."""
    return frame.collect("pyarrow").rows()[0][0]


def iterate(frame: nw.LazyFrame[Any]) -> Iterator[tuple[Any, ...]]:
    """Iterate over the rows of a frame, without loading all of them into memory."""
    native = frame.to_native()
    if hasattr(native, "toLocalIterator"):
        yield from (tuple(row) for row in native.toLocalIterator())
        return
    for batch in native.collect_batches(chunk_size=50_000):
        yield from batch.iter_rows()


def _spark_session() -> "SparkSession":
    spark = _SPARK_SESSION.get()
    if spark is None:
        raise MillraceError(
            "the tables are in a catalog, and this command reads folders alone",
            "Unset MILLRACE_CATALOG, or query the catalog itself",
        )
    return spark
