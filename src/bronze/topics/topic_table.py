"""Reads and writes ops.topics."""

from collections.abc import Sequence

import pyarrow as pa

from bronze.topics.topic_history import TopicChange, to_changes
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import TOPICS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.ledger import now

_COLUMNS = ("sequence", *TopicChange._fields)


class TopicTable:
    """The table ops.topics, with a cache of its rows.

    Args:
        lake: the tables, as the job writes them.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        rows = lake.find(TOPICS.name, lambda rows: rows.select(*_COLUMNS)).to_pylist()
        self.history: list[TopicChange] = to_changes(rows)

    def append(self, changes: Sequence[TopicChange]) -> None:
        """Add rows in one commit, if there are any."""
        if not changes:
            return
        at = now()
        rows = [
            {"sequence": number, **change._asdict(), "at": at}
            for number, change in enumerate(changes, len(self.history))
        ]
        self._lake.append(TOPICS.name, pa.Table.from_pylist(rows, arrow_schema(TOPICS)))
        self.history.extend(changes)
