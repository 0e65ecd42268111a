"""Removes the cause of a change from the input, and recomputes the row with the oracle."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kit.oracle import Oracle
from kit.oracle_wire import Fields, micros
from kit.pipeline import expected_rows, plain, shown
from kit.records import Stored
from lakehouse.contracts.table import Table


@dataclass(frozen=True)
class State:
    """The extent of the input that rows are computed from, as stamps and times in microseconds.

    Args:
        on_time: stamp of the last on-time events and of the last rates.
        late: stamp of the last late events.
        watermark: the watermark.
    """

    on_time: int
    late: int
    watermark: int


class History:
    """All accepted events and rates of a run, each with the stamp of its commit.

    Args:
        stored: the records.
        late: UIDs of late events.
    """

    def __init__(self, stored: Iterable[Stored], late: Iterable[str]) -> None:
        stored = list(stored)
        oracle = Oracle.over(stored)
        stamps = {_place(vars(each.record), each.offset): micros(each.ingested_at) for each in stored}
        self._late = frozenset(late)
        self._events = [(stamps[_place(event, event["offset"])], event) for event in oracle.events]
        self._rates = [(stamps[_place(rate, rate["offset"])], rate) for rate in oracle.told_rates]
        self._known: dict[State, Oracle] = {}

    def at(self, state: State) -> Oracle:
        """The oracle over the input of a state."""
        if state not in self._known:
            self._known[state] = self.without(state, {})
        return self._known[state]

    def without(self, state: State, cause: Mapping[str, Any]) -> Oracle:
        """The oracle over the input of a state without the cause of a change."""
        gone = set(cause.get("events", ()))
        rates = {(rate["currency"], micros(rate["valid_from"])) for rate in cause.get("rates", ())}
        watermark = micros(cause["watermark"]) - 1 if "watermark" in cause else state.watermark
        events = [
            event
            for stamp, event in self._events
            if stamp <= (state.late if event["event_id"] in self._late else state.on_time)
            and event["event_id"] not in gone
        ]
        told = [
            rate
            for stamp, rate in self._rates
            if stamp <= state.on_time
            and not (stamp == state.on_time and (rate["currency"], rate["valid_from"]) in rates)
        ]
        return Oracle(events=events, told_rates=told, watermark=watermark)


@dataclass
class Undone:
    """Rows of one table of an oracle, by key."""

    oracle: Oracle
    table: Table

    @cached_property
    def rows(self) -> dict[str, Fields]:
        """Rows of the table by key."""
        found = (plain(row) for row in expected_rows(self.oracle)[self.table.name]())
        return {self.key(row): row for row in found}

    def key(self, row: Mapping[str, Any]) -> str:
        """A row's key as text."""
        return repr([row[name] for name in self.table.key])

    def differs(self, change: Mapping[str, Any]) -> dict[str, Any]:
        """Columns in which the row before a change differs from the oracle's; empty if the rows are equal."""
        before, after = (change[side] and plain(change[side]) for side in ("before", "after"))
        found = self.rows.get(self.key(before or after))
        if before is None or found is None:
            return {} if before is found else {"row": (before, found)}
        columns = [name for name in self.table.deterministic_columns if name in found]
        pairs = {name: (before[name], found[name]) for name in columns}
        return {name: pair for name, pair in pairs.items() if shown(pair[0]) != shown(pair[1])}


def _place(row: Mapping[str, Any], offset: int) -> tuple[Any, ...]:
    return row["topic"], row["partition"], offset


def assert_undone(
    history: History,
    table: Table,
    states: Mapping[tuple[str, int], State],
    changes: Iterable[Mapping[str, Any]],
) -> None:
    """Assert that without its cause each changed row is the row before the change.

    Args:
        history: the history of the run.
        table: the changed table.
        states: by table and version, the input that the rows after a commit are computed from.
        changes: the changes with their causes in `caused_by`.
    """
    undone: dict[str, Undone] = {}
    wrong, count = [], 0
    for change in changes:
        count += 1
        state, cause = states[table.name, change["commit_version"]], change["caused_by"]
        known = repr((state, cause))
        if known not in undone:
            undone[known] = Undone(history.without(state, cause), table)
        if differing := undone[known].differs(change):
            wrong.append({"cause": cause, "differing": differing, "change": change})
    assert not wrong, f"{len(wrong)} of {count} changes of {table.name} are not undone: {wrong[:3]}"
