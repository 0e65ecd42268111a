"""Figures of tables for repeated views: a figure is computed again only if its table has another version."""

import time
from collections.abc import Callable, Hashable
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from lakehouse.contracts import TABLES
from lakehouse.contracts.ops import RULE_USES, RULES
from lakehouse.delta.log_files import latest_version, written_at
from lakehouse.run.rules_used import tables_of_other_rules
from lakehouse.run.rules_version import read_rule_texts, rules_version
from lakehouse.settings import Settings
from millrace.tables import table_reader, unread_counts
from millrace.tables.freshness import SUMMARIZED, freshness, high_water_mark
from millrace.tables.gate_status import is_held
from millrace.tables.read_stage_times import read_stage_times
from millrace.tables.rules_reader import read_rules_used
from millrace.tables.table_reader import table_path

Figure = TypeVar("Figure")
_BEHIND_SECONDS = 10


class TableFigures:
    """The figures of a home that `millrace status` and `millrace demo` show.

    Args:
        settings: the settings in force.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._versions: dict[str, int] = {}
        self._stages: tuple[int, list[dict[str, Any]]] | None = None
        self._figures: dict[tuple[str, Hashable], tuple[Hashable, Any]] = {}

    def rows(self) -> dict[str, int]:
        """Number of rows by table."""
        return {
            name: self._of(name, "rows", partial(table_reader.row_count, self._settings, name))
            for name in TABLES
        }

    def ledger_sums(self) -> dict[str, dict[str, Any]]:
        """See `table_reader.ledger_sums`."""
        return self._of("ops.ledger", "sums", lambda: table_reader.ledger_sums(self._settings))

    def behind(self) -> dict[str, dict[str, Any]]:
        """See `table_reader.behind`; `seconds` is up to 10 seconds old."""
        at = int(time.monotonic() / _BEHIND_SECONDS)
        return self._of("ops.ledger", "behind", lambda: table_reader.behind(self._settings), at)

    def freshness(self) -> dict[str, float]:
        """See `freshness.freshness`."""
        marks = {
            table.name: self._of(table.name, "mark", partial(high_water_mark, self._settings, table))
            for table in SUMMARIZED
        }
        return freshness(self.ledger_sums(), marks)

    def stage_times(self) -> list[dict[str, Any]]:
        """See `read_stage_times`; up to 10 seconds old, since it reads the records of an hour."""
        at = int(time.monotonic() / _BEHIND_SECONDS)
        if self._stages is None or self._stages[0] != at:
            self._stages = at, read_stage_times(self._settings)
        return self._stages[1]

    def without_rate(self) -> int:
        """See `table_reader.without_rate`."""
        return self._of("gold.conversions", "rates", lambda: table_reader.without_rate(self._settings))

    def unread(self) -> dict[str, int]:
        """See `unread_counts.unread_counts`."""
        return self._of("silver.events", "unread", lambda: unread_counts.unread_counts(self._settings))

    def unread_refunds(self) -> int:
        """See `unread_counts.unread_refunds`."""
        now = rules_version(self._settings.conf)
        return self._of("silver.events", "refunds", lambda: unread_counts.unread_refunds(self._settings), now)

    def without_value(self) -> int:
        """See `unread_counts.without_value`."""
        now = rules_version(self._settings.conf)
        return self._of(
            "gold.conversions", "values", lambda: unread_counts.without_value(self._settings), now
        )

    def tables_of_other_rules(self) -> list[str]:
        """See `rules_used.tables_of_other_rules`."""
        later = latest_version(table_path(self._settings, RULE_USES.name))
        used = self._of(RULES.name, "used", lambda: read_rules_used(self._settings), later)
        return tables_of_other_rules(read_rule_texts(self._settings.conf), used, self._created_at)

    def _created_at(self, name: str) -> datetime:
        return self._of(name, "created", partial(table_reader.created_at, self._settings, name))

    def is_held(self) -> bool:
        """Whether gold is held."""
        return self._of("ops.gates", "held", lambda: is_held(self._settings))

    def _of(self, name: str, figure: str, work_out: Callable[[], Figure], key: Hashable = None) -> Figure:
        """A figure of a table. Costs two file-system calls while its version is the same."""
        folder = table_path(self._settings, name)
        version = self._versions[name] = latest_version(folder, self._versions.get(name, -1))
        stamp = (version, written_at(folder, version), key)
        known = self._figures.get((name, figure))
        if known is None or known[0] != stamp:
            known = self._figures[name, figure] = stamp, work_out()
        found: Figure = known[1]
        return found
