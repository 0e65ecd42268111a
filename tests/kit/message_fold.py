"""Folds the messages of a stream into rows, as a multiset."""

import json
from collections import Counter
from typing import Any


class MessageFold:
    """Rows as JSON text, each with its number of occurrences."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()

    def take(self, message: dict[str, Any]) -> None:
        """Apply a message."""
        if message["type"] == "reset":
            self._rows.clear()
        for row in message.get("rows", ()):
            self._rows[json.dumps(row)] += 1
        for change in message.get("changes", ()):
            for row, count in ((change["before"], -1), (change["after"], 1)):
                if row is not None:
                    self._rows[json.dumps(row)] += count

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, sorted by their JSON text."""
        assert min(self._rows.values(), default=0) >= 0
        return [json.loads(row) for row in sorted(self._rows.elements())]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in the order of `MessageFold.rows`."""
    return sorted(rows, key=json.dumps)
