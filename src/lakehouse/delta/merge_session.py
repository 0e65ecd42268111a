"""The session of a job's merges, in which their queries are compiled."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from lakehouse.delta.commit_metadata import CommitMetadata
from lakehouse.delta.ddl import use_catalog
from lakehouse.run.job_session import isolated_session

_COPIED = ("spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.sql.codegen.wholeStage")
_SETTINGS = {
    "spark.databricks.delta.merge.materializeSource": "none",  # sources are checkpointed
    # a row that closes leaves the replaced partition in the same commit
    "spark.databricks.delta.replaceWhere.constraintCheck.enabled": "false",
}


class MergeSession:
    """A session for merges, which copy whole files: compiled, also while a small micro-batch is interpreted.

    Their code has none of the batch's values, so it is compiled once. Where an application has one session
    only, it is the job's own. See docs/decisions/0057.

    Args:
        spark: the job's session.
        catalog: the current catalog of that session; None for its default.
    """

    def __init__(self, spark: SparkSession, catalog: str | None) -> None:
        self._job = spark
        self._catalog = catalog
        self._lock = threading.Lock()
        self._opened: tuple[SparkSession, CommitMetadata] | None = None

    @contextmanager
    def committing(self, metadata: str, transaction: Mapping[str, str | int]) -> Iterator[SparkSession]:
        """The session, with the job's current settings; see `CommitMetadata.on_session`."""
        with self._lock:
            session, commits = self._opened = self._opened or self._open()
            for name in _COPIED if session is not self._job else ():
                if value := self._job.conf.get(name, None):
                    session.conf.set(name, value)
        with commits.on_session(metadata, transaction):
            yield session

    def _open(self) -> tuple[SparkSession, CommitMetadata]:
        session = isolated_session(self._job)
        if self._catalog and session is not self._job:
            use_catalog(session, self._catalog)
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        return session, CommitMetadata(session)
