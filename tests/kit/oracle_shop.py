"""A database table that keeps every state it ever had: the oracle of versions of rows."""

from typing import Any, NamedTuple

from folds.shop.row_history import DELETE, INSERT, SNAPSHOT, TRUNCATE, UPDATE, Change

Row = dict[str, str | None]


class Sent(NamedTuple):
    """A change as capture sends it: its row's key, None of a truncate."""

    key: str | None
    change: Change


class KeptTable:
    """A table with a long column `note`, whose value is left out of updates that do not change it.

    Attributes:
        states: by commit, its position, its time and all rows after it; times may go back.
        log: the changes, in order.
        began: position of the first snapshot; None before it.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.states: list[tuple[int, int, dict[str, Row]]] = []
        self.log: list[Sent] = []
        self.began: int | None = None
        self._lsn = 100
        self._time = 0

    def commit(self, statements: list[tuple[Any, ...]], seconds: int, rolled_back: bool = False) -> None:
        """Run statements in a transaction: (insert, key, plan, note), (update, key, plan, note or None),
        (delete, key), (move, key, new key), (truncate,)."""
        self._lsn += 10
        before, sent = {key: dict(row) for key, row in self.rows.items()}, []
        for statement in statements:
            sent += self._run(*statement)
        if rolled_back:
            self.rows = before
            return
        self._time += seconds
        self._log(sent)
        self.states.append(self._state())

    def snapshot(self) -> None:
        """Send all rows, after a truncate."""
        self._lsn += 10
        rows = [(key, SNAPSHOT, dict(row), ()) for key, row in self.rows.items()]
        self._log([(None, TRUNCATE, None, ()), *rows])
        if self.began is None:
            self.began = self._lsn
            self.states = []
        self.states.append(self._state())

    def _state(self) -> tuple[int, int, dict[str, Row]]:
        return self._lsn, self._time, {key: dict(row) for key, row in self.rows.items()}

    def _log(self, sent: list[tuple[str | None, str, Row | None, tuple[str, ...]]]) -> None:
        self.log += [
            Sent(key, Change(self._lsn, number, kind, self._time, row, unchanged))
            for number, (key, kind, row, unchanged) in enumerate(sent, 1)
        ]

    def _run(self, verb: str, *arguments: Any) -> list[tuple[str | None, str, Row | None, tuple[str, ...]]]:
        if verb == "truncate":
            self.rows = {}
            return [(None, TRUNCATE, None, ())]
        key = arguments[0]
        if verb == "insert" and key not in self.rows:
            self.rows[key] = {"id": key, "plan": arguments[1], "note": arguments[2]}
            return [(key, INSERT, dict(self.rows[key]), ())]
        if key not in self.rows or verb == "insert":
            return []
        if verb == "delete":
            del self.rows[key]
            return [(key, DELETE, None, ())]
        if verb == "update":
            return [(key, UPDATE, *self._update(key, *arguments[1:]))]
        if arguments[1] in self.rows:
            return []
        moved = self.rows.pop(key)
        self.rows[arguments[1]] = {**moved, "id": arguments[1]}
        return [(key, DELETE, None, ()), (arguments[1], INSERT, dict(self.rows[arguments[1]]), ())]

    def _update(self, key: str, plan: str, note: str | None) -> tuple[Row, tuple[str, ...]]:
        self.rows[key]["plan"] = plan
        if note is None:
            short = {name: value for name, value in self.rows[key].items() if name != "note"}
            return short, ("note",)
        self.rows[key]["note"] = note
        return dict(self.rows[key]), ()
