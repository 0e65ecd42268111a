"""What Spark itself tells of its streaming queries."""

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
    """Hears every query of the sessions that it listens in.

    A query is heard of in the session that starts it, so each job's session has to be made here.
    """

    def __init__(self) -> None:
        self._names: dict[Any, str | None] = {}
        self._ended: set[Any] = set()
        self._reported: list[StreamingQueryProgress] = []

    def new_session(self, spark: SparkSession) -> SparkSession:
        """A session of the same application whose queries are heard."""
        session = spark.newSession()
        session.streams.addListener(self)
        return session

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Note that there is one more."""
        self._names[event.runId] = event.name

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Keep the report of a micro-batch."""
        self._reported.append(event.progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing was done."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Note that no more will come of it."""
        self._ended.add(event.runId)

    def rows_taken(self) -> int:
        """Rows that the queries have taken in so far, by their reports."""
        return sum(reported.numInputRows for reported in list(self._reported))

    def reports(self) -> dict[str | None, list[StreamingQueryProgress]]:
        """By name of the query, one for each micro-batch that had rows. Waits until all have ended."""
        eventually(lambda: self._names.keys() <= self._ended, 60, "all queries have ended")
        found: dict[str | None, list[StreamingQueryProgress]] = {each: [] for each in self._names.values()}
        for reported in self._reported:
            if reported.numInputRows:
                found[reported.name].append(reported)
        return found


def rows_dropped(reports: list[StreamingQueryProgress]) -> int:
    """How many rows Spark's operators have thrown away because they came behind their watermark."""
    return sum(operator.numRowsDroppedByWatermark for each in reports for operator in each.stateOperators)
