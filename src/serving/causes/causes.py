"""Finds the causes of a commit's row changes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from folds.persons.refunds import load_order_rules
from lakehouse.contracts import TABLES
from lakehouse.readers.open_tables import open_tables
from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros
from serving.causes.changed_row import ChangedRow
from serving.causes.commit_input import MINUTES, CommitInput, CommitInputs
from serving.causes.input_events import InputEvent, events_of, events_within
from serving.causes.linked_visitors import Goals, Persons, shared_visitors
from serving.causes.other_causes import BOTS, RATES, NewBots, NewRates, Records
from serving.causes.person_rows import CONVERSION_TABLES, ConversionEvents
from serving.causes.table_rows import TableRows
from serving.causes.visitor_rows import FINDERS, by_visitor, session_finder, touch_finder
from serving.causes.window_rows import WindowEvents, day_events

Cause = Mapping[str, Any]
_RESULTS, _TRAFFIC = "silver.search_results", "gold.traffic"


class Causes:
    """Finds the causes of row changes, as described in docs/watch.md.

    Args:
        settings: the settings in force.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rows = TableRows(open_tables(settings))
        self._inputs = CommitInputs(self._rows)
        self._goals = Goals(self._rows, load_order_rules(settings.conf).refunds)

    def is_known(self, table: str, version: int) -> bool:
        """Whether the ledger has the input of a commit: jobs write the ledger after the tables."""
        return self._inputs.is_known(self._inputs.marks(table, version))

    def find(self, table: str, version: int, changes: Sequence[Mapping[str, Any]]) -> list[Cause]:
        """The cause of each change of a commit.

        Args:
            table: the table.
            version: version of the commit, whose input must be known.
            changes: changes with `before` and `after`.
        """
        marks = self._inputs.marks(table, version)
        rows = [ChangedRow(change["before"], change["after"]) for change in changes]
        if not rows or marks.upto is None or marks.job not in ("refine", "repair", "publish"):
            return [{"job": marks.job} for _ in rows]
        given = self._inputs.find(table, version, marks)
        return _CommitCauses(
            self._settings, self._rows, self._goals, self._inputs, table, version, given, rows
        ).find()


class _CommitCauses:
    """The causes of one commit."""

    def __init__(
        self,
        settings: Settings,
        rows: TableRows,
        goals: Goals,
        inputs: CommitInputs,
        table: str,
        version: int,
        given: CommitInput,
        changes: Sequence[ChangedRow],
    ) -> None:
        self._zone = ZoneInfo(settings.business_time_zone)
        self._rows = rows
        self._goals = goals
        self._inputs = inputs
        self._table = table
        self._given = given
        self._changes = changes
        self._events = events_of(rows, table, given)
        if table == _RESULTS and given.job == "refine":  # refine reads late events before repair does
            waiting = (inputs.repaired_through(table, version), min((low for low, _ in given.new), default=0))
            self._events += [event for event in events_within(rows, [waiting]) if event.is_late]
        self._by_visitor = by_visitor(self._events)
        if given.job == "publish":
            goals.refresh(given.last)

    def find(self) -> list[Cause]:
        """The cause of each change, in order."""
        return [self._cause(change) for change in self._changes]

    def _cause(self, change: ChangedRow) -> Cause:
        found: dict[str, Any] = {}
        due = change.due_at
        if due is not None and to_micros(due) <= self._given.watermark:
            found["watermark"] = due
        if rates := self._rates(change):
            found["rates"] = rates
        is_explained = ("watermark" in found and change.is_by_watermark()) or (
            "rates" in found and self._table in CONVERSION_TABLES and change.is_by_rates()
        )
        if not is_explained:
            found |= self._input(change)
        versions = change.values("rules_version")
        if len(versions) == 2 and versions[0] != versions[1]:
            found["rules_version"] = versions[1]
        return found or {"job": self._given.job}

    def _input(self, change: ChangedRow) -> Cause:
        """Records, events and bots behind a change."""
        if self._records is not None:
            return {"records": records} if (records := self._records.of(change)) else {}
        found = {"events": sorted({event.event_id for event in self._find_events(change)})}
        if self._given.job == "publish":
            found["bots"] = self._bots.among(self._visitors(change))
        return {name: values for name, values in found.items() if values}

    @cached_property
    def _records(self) -> Records | None:
        return Records.of_table(self._table, self._changes)

    @cached_property
    def _find_events(self) -> Callable[[ChangedRow], list[InputEvent]]:
        table = self._table
        if table in CONVERSION_TABLES:
            return self._conversions.find
        if table == _TRAFFIC:
            return self._windows.find
        if table == MINUTES:
            return self._windows.of_minute
        if table == "silver.sessions":
            in_session = session_finder(self._changes)
            return lambda change: in_session(change, self._by_visitor)
        if table == "gold.touches":
            up_to_touch = touch_finder(self._shared.union(self._bots.found))
            return lambda change: up_to_touch(change, self._by_visitor)
        if table in FINDERS:
            return lambda change: list(FINDERS[table](change, self._by_visitor))
        return lambda change: day_events(table, change, self._events, self._zone, self._bots.found)

    def _visitors(self, change: ChangedRow) -> Collection[str] | None:
        """Visitors whose classification as bots would change the row; None for all."""
        if self._table in CONVERSION_TABLES:
            return self._conversions.visitors(change)
        if self._table == _TRAFFIC:
            return self._windows.visitors(change)
        visitors = change.values("visitor_id")
        return visitors or (None if TABLES[self._table].cadence == "summary" else ())

    def _rates(self, change: ChangedRow) -> list[dict[str, Any]]:
        if self._given.job != "publish" or not change.has_other_money():
            return []
        if self._table in CONVERSION_TABLES:
            return self._new_rates.of(self._goals.of_conversion(change.sides[-1]["conversion_id"]))
        if self._table == _TRAFFIC:
            visitors = self._windows.visitors(change)
            return self._new_rates.of([goal for each in visitors for goal in self._goals.of_visitor(each)])
        return self._new_rates.all()

    @cached_property
    def _new_rates(self) -> NewRates:
        version = self._inputs.version_through(RATES, "refine", self._given.last)
        return NewRates(self._rows, self._given.new, version)

    @cached_property
    def _bots(self) -> NewBots:
        version = self._inputs.version_through(BOTS, "repair", self._given.last)
        return NewBots(self._rows, self._given, version)

    @cached_property
    def _windows(self) -> WindowEvents:
        bots, identified = self._bots.found, self._identified
        return WindowEvents(self._rows, self._given, self._by_visitor, self._goals, bots, identified)

    @cached_property
    def _identified(self) -> set[str]:
        return {event.visitor_id for event in self._events if event.user_id} | self._shared

    @cached_property
    def _shared(self) -> frozenset[str]:
        return shared_visitors(self._rows, self._by_visitor.keys())

    @cached_property
    def _conversions(self) -> ConversionEvents:
        names = {change.sides[-1]["conversion_id"] for change in self._changes}
        visitors = {goal.visitor_id for name in names for goal in self._goals.of_conversion(name)}
        persons = Persons(self._rows, visitors, self._identified)
        return ConversionEvents(self._goals, persons, self._by_visitor, self._shared.union(self._bots.found))
