"""Collects Spark's progress reports of streaming queries."""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from kit.polling import eventually


class Listener(StreamingQueryListener):
    """Listens to all streaming queries of its sessions.

    Spark notifies only listeners of the session that starts a query, so each job's session is created here.
    """

    def __init__(self) -> None:
        self._names: dict[Any, str | None] = {}
        self._ended: set[Any] = set()
        self._reported: list[StreamingQueryProgress] = []

    def new_session(self, spark: SparkSession) -> SparkSession:
        """A new session of the same application, with this listener."""
        session = spark.newSession()
        session.streams.addListener(self)
        return session

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Record the started query."""
        self._names[event.runId] = event.name

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Record the progress of a micro-batch."""
        self._reported.append(event.progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Ignore idle triggers."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Record the end of the query."""
        self._ended.add(event.runId)

    def rows_taken(self) -> int:
        """Number of input rows so far, from the progress reports."""
        return sum(reported.numInputRows for reported in list(self._reported))

    def reports(self) -> dict[str | None, list[StreamingQueryProgress]]:
        """Progress of micro-batches with rows, by query name. Waits until all queries have ended."""
        eventually(lambda: self._names.keys() <= self._ended, 60, "all queries have ended")
        found: dict[str | None, list[StreamingQueryProgress]] = {each: [] for each in self._names.values()}
        for reported in self._reported:
            if reported.numInputRows:
                found[reported.name].append(reported)
        return found


def rows_dropped(reports: list[StreamingQueryProgress]) -> int:
    """Number of rows that Spark dropped because they were behind the watermark."""
    return sum(operator.numRowsDroppedByWatermark for each in reports for operator in each.stateOperators)
