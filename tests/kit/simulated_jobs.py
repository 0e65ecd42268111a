"""Writes the tables of refine, repair and publish from the oracle, commit by commit, without Spark."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from kit import delta_writer
from kit.oracle import Oracle
from kit.oracle_wire import MINUTE, Fields, micros
from kit.pipeline import expected_rows
from kit.records import SENT, Record, Stored
from kit.undoing import History, State
from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import DELETED

FOLDED = ("silver.sessions", "silver.impressions", "silver.searches", "silver.search_results")
CREDIT = ("gold.touches", "gold.conversions", "gold.attribution", "gold.trails")
DAYS = (
    *("gold.funnel", "gold.campaign_performance", "gold.search_performance"),
    *("gold.result_performance", "gold.promotion_performance"),
    *("gold.dimension_performance", "gold.funnel_by_dimension"),
)
_MINUTES = "gold.visitor_minutes"
_SUMS = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions", "money")


class SimulatedJobs:
    """Jobs of one home. Each bronze commit is a micro-batch of each job; every second one updates summaries.

    Args:
        home: the home.
        commits: records by bronze commit.
    """

    def __init__(self, home: Path, commits: Sequence[Sequence[Record]]) -> None:
        self.warehouse = home / "warehouse"
        self._commits = _stored(commits)
        self._late: set[str] = set()
        self.states: dict[tuple[str, int], State] = {}
        self._rows: dict[str, dict[str, Fields]] = {}
        self._minutes: Counter[tuple[Any, ...]] = Counter()
        self._sequence = 0
        for name in (
            "silver.events",
            "ops.ledger",
            "silver.exchange_rates",
            _MINUTES,
            "silver.identities",
            "silver.consents",
        ):
            delta_writer.create_table(self.warehouse, TABLES[name])
        self._run()

    @property
    def history(self) -> History:
        """The input of all commits."""
        return History([each for commit in self._commits for each in commit], self._late)

    def _run(self) -> None:
        seen: list[Stored] = []
        known: set[str] = set()
        before = 0
        for number, commit in enumerate(self._commits):
            if not commit:
                continue
            watermark, stamp = Oracle.over(seen).watermark, micros(commit[0].ingested_at)
            seen += commit
            oracle = Oracle.over(seen)
            new = [event for event in oracle.events if event["event_id"] not in known]
            known |= {event["event_id"] for event in new}
            late = {e["event_id"] for e in new if watermark is not None and e["event_time"] <= watermark}
            self._late |= late
            now = oracle.watermark or 0
            history = History(seen, self._late)
            self._append_events(new, late, stamp)
            self._write_rates(seen, stamp)
            refined, repaired = State(stamp, before, now), State(stamp, stamp, now)
            self._write(history.at(refined), FOLDED, "refine", refined)
            self._record("refine", number, repaired)
            self._write(
                history.at(repaired),
                (*FOLDED, "silver.identities", "silver.bots", "silver.consents"),
                "repair",
                repaired,
            )
            self._record("repair", number, repaired)
            self._publish(history.at(repaired), number, repaired)
            before = stamp

    def _publish(self, oracle: Oracle, number: int, state: State) -> None:
        more = {"heard": state.late}
        self._write(oracle, CREDIT, "publish", state, more)
        self._append_minutes(oracle, state)
        self._record("publish", number, state)
        if number % 2:
            self._write(oracle, ("gold.traffic", *DAYS), "publish", state, {"minutes": self._sequence})

    def _write(
        self,
        oracle: Oracle,
        names: Iterable[str],
        job: str,
        state: State,
        more: Mapping[str, int] | None = None,
    ) -> None:
        rows = expected_rows(oracle)
        for name in names:
            stamped = [{**row, "ingested_at": state.on_time} for row in rows[name]()]
            self._merge(name, stamped, job, state, more or {})

    def _merge(
        self, name: str, rows: Iterable[Fields], job: str, state: State, more: Mapping[str, int]
    ) -> None:
        """Merge the rows that differ from the current rows of a table."""
        table, known = TABLES[name], self._rows.setdefault(name, {})
        delta_writer.create_table(self.warehouse, table)
        columns = [each for each in table.column_names if each != "ingested_at"]
        now = {repr([row.get(key) for key in table.key]): row for row in rows}
        changed = [
            row
            for key, row in now.items()
            if key not in known or any(known[key].get(each) != row.get(each) for each in columns)
        ]
        gone = [row for key, row in known.items() if key not in now]
        if changed or gone:
            schema = arrow_schema(table)
            lists = [{each: row.get(each) for each in schema.names} for row in (*changed, *gone)]
            flags = pa.array([False] * len(changed) + [True] * len(gone), pa.bool_())
            data = pa.Table.from_pylist(lists, schema).append_column(DELETED, flags)
            metadata = {"job": job, "upto": state.on_time, **more}
            self.states[name, delta_writer.merge(self.warehouse, table, data, metadata)] = state
        self._rows[name] = {**{key: known[key] for key in known.keys() & now.keys()}, **now}

    def _append_events(self, events: Iterable[Fields], late: set[str], stamp: int) -> None:
        rows = [{**each, "is_late": each["event_id"] in late, "ingested_at": stamp} for each in events]
        self._append("silver.events", rows, {"job": "refine", "upto": stamp})

    def _append_minutes(self, oracle: Oracle, state: State) -> None:
        now: Counter[tuple[Any, ...]] = Counter()
        for fact in oracle.windows._facts:
            cell = fact["of"], fact["at"] // MINUTE * MINUTE, fact["channel"]
            for name in _SUMS:
                now[(*cell, name)] += fact[name]
        cells: dict[tuple[Any, ...], dict[str, Any]] = {}
        for key in now.keys() | self._minutes.keys():
            if difference := now[key] - self._minutes[key]:
                cells.setdefault(key[:3], dict.fromkeys(_SUMS, 0))[key[3]] = difference
        self._minutes, bots = now, {bot["visitor_id"] for bot in oracle.bots}
        if cells:
            self._sequence += 1
            rows = [
                {
                    **counts,
                    "visitor_id": cell[0],
                    "minute": cell[1],
                    "channel": cell[2],
                    "value": Decimal(counts["money"]),
                    "sequence": self._sequence,
                    "by_events": cell[0] not in bots and any(counts[name] for name in _SUMS[:-1]),
                }
                for cell, counts in cells.items()
            ]
            known = {"heard": state.late, "sequence": self._sequence}
            self._append(_MINUTES, rows, {"job": "publish", "upto": state.on_time, **known})

    def _write_rates(self, seen: Sequence[Stored], stamp: int) -> None:
        """Write the rates, each with the stamp of its last record."""
        history = History(seen, ())
        rows = [
            {**row, "ingested_at": max(at for at, rate in history._rates if _same(rate, row))}
            for row in Oracle.over(seen).rates
        ]
        self._merge("silver.exchange_rates", rows, "refine", State(stamp, stamp, 0), {})

    def _record(self, job: str, number: int, state: State) -> None:
        row = {
            "job": job,
            "batch_id": number,
            "position": state.on_time,
            "heard": state.late if job == "publish" else None,
            "watermark": state.watermark,
        }
        self._append("ops.ledger", [row], {"job": job})

    def _append(self, name: str, rows: list[Fields], metadata: Mapping[str, Any]) -> None:
        schema = arrow_schema(TABLES[name])
        lists = [{each: row.get(each) for each in schema.names} for row in rows]
        if lists:
            rows_of_table = pa.Table.from_pylist(lists, schema)
            delta_writer.append(self.warehouse, TABLES[name], rows_of_table, metadata)


def _same(rate: Fields, row: Fields) -> bool:
    return (rate["currency"], rate["valid_from"]) == (row["currency"], row["valid_from"])


def _stored(commits: Sequence[Sequence[Record]]) -> list[list[Stored]]:
    """The records as stored in bronze, with one stamp per commit."""
    found, offset = [], 0
    for number, commit in enumerate(commits):
        stamp = SENT + timedelta(days=1, seconds=number)
        found.append([Stored(each, offset + place, stamp) for place, each in enumerate(commit)])
        offset += len(commit)
    return found
