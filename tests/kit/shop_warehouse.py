"""A warehouse with all tables that the pages read: sample traffic over some weeks, without a JVM.

The tables come from the oracle; panes and the ledger follow from the order of arrival. Results of
expectations and of data-driven models are invented.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import cached_property
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from kit.oracle import Oracle
from kit.oracle_persons import order_comparisons_of, timeline_of
from kit.oracle_windows import windows_of
from kit.records import Record, Stored
from kit.sample_gates import expectation_rows
from kit.sample_orders import sample_orders
from kit.warehouse_builder import build_warehouse, replace_rows, schema_of
from lakehouse.contracts import TABLES
from millrace.sample_shop.daily_rhythm import weight_at
from millrace.sample_shop.sample_costs import daily_costs
from millrace.sample_shop.sample_rates import monthly_rates
from millrace.sample_shop.traffic_stream import EVENTS_PER_VISIT, simulate

Row = dict[str, Any]

_BATCH = timedelta(minutes=20)  # of arrival time per micro-batch
_SUMS = ("page_views", "sessions", "impressions", "clicks", "searches", "conversions")
_DELAY = 600_000_000  # watermark delay in microseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass
class Shop:
    """The shop's tables.

    Args:
        until: upper limit of arrival times (UTC).
        days: length of the traffic in days.
        events: approximate number of records.
        seed: the random seed.
    """

    until: datetime
    days: float
    events: int
    seed: int = 7

    @cached_property
    def stored(self) -> list[Stored]:
        """The records in bronze, with one ingest stamp per batch."""
        return [
            Stored(record, offset, _stamp(record.timestamp)) for offset, record in enumerate(self._records())
        ]

    def _records(self) -> Iterator[Record]:
        start = self.until - timedelta(days=self.days)
        for rate in monthly_rates(self.seed, "EUR", start, self.until):
            yield Record(rate.value, timestamp=start, topic="exchange_rates")
        for cost in daily_costs(self.seed, start, self.until):
            yield Record(cost.value, timestamp=start, topic="campaign_costs")
        rng = Random(self.seed)
        per_second = self.events / EVENTS_PER_VISIT / timedelta(days=self.days).total_seconds()
        for arrival in islice(simulate(rng, start.timestamp(), per_second, weight_at), 2 * self.events):
            at = datetime.fromtimestamp(arrival.at, timezone.utc)
            if at > self.until:
                return
            yield Record(arrival.record(arrival.at, rng).value, timestamp=at)

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle of the tables."""
        return Oracle.over(self.stored)

    @property
    def watermark(self) -> datetime:
        """The final watermark."""
        return _time(self.oracle.watermark or 0)

    @cached_property
    def tables(self) -> dict[str, list[Row]]:
        """Rows by table."""
        oracle, gold, windows = self.oracle, self.oracle.gold, self.oracle.windows
        arrived = {each.offset: each.record.timestamp for each in self.stored}
        rejected = [{**row, "arrival_time": arrived[row["offset"]]} for row in oracle.rejected]
        ledger, traffic, _ = self._by_arrival
        orders = sample_orders(oracle.events)
        rows = {
            "silver.events": oracle.events,
            "silver.rejected_events": rejected,
            "silver.duplicate_events": oracle.duplicates,
            "silver.sessions": oracle.sessions,
            "silver.impressions": oracle.impressions,
            "silver.searches": oracle.searches,
            "silver.search_results": oracle.search_results,
            "silver.identities": oracle.identities,
            "silver.bots": oracle.bots,
            "silver.exchange_rates": oracle.rates,
            "silver.cost_records": oracle.cost_records,
            "silver.campaign_costs": oracle.campaign_costs,
            "gold.touches": gold.touches,
            "gold.conversions": gold.conversions,
            "gold.attribution": gold.attribution,
            "gold.trails": gold.trails,
            "gold.traffic": traffic,
            "gold.campaign_performance": windows.campaigns,
            "gold.search_performance": windows.search_performance,
            "gold.result_performance": windows.result_performance,
            "gold.promotion_performance": windows.promotion_performance,
            "gold.funnel": windows.funnel,
            "gold.dimension_performance": windows.dimensions,
            "gold.funnel_by_dimension": windows.funnel_by_dimension,
            "gold.channel_credit": self._channel_credit(),
            "silver.orders": orders,
            "gold.order_comparisons": order_comparisons_of(oracle.events, orders),
            "gold.persons": oracle.persons,
            "gold.visitor_timeline": timeline_of(oracle.events, oracle.identities, [], orders),
            "ops.ledger": ledger,
            "ops.expectations": expectation_rows(self.until, self.days),
        }
        return {name: [typed(name, row) for row in found] for name, found in rows.items()}

    @property
    def on_time(self) -> list[Row]:
        """Complete windows of gold.traffic before late events."""
        return [typed("gold.traffic", row) for row in self._by_arrival[2]]

    def build(self, home: Path) -> None:
        """Write the tables; gold.traffic in two commits, the second one with late events."""
        build_warehouse(home, {**self.tables, "gold.traffic": self.on_time})
        replace_rows(home, "gold.traffic", self.tables["gold.traffic"])

    @cached_property
    def _by_arrival(self) -> tuple[list[Row], list[Row], list[Row]]:
        """The ledger, and windows now and before late events."""
        ledger, late = self._ledger()
        return ledger, *self._panes(self.oracle.windows.traffic, late)

    def _ledger(self) -> tuple[list[Row], set[str]]:
        """One ledger row per job and batch, and the UIDs of late events."""
        chance, reached, late = random.Random(self.seed), 0, set()
        stamps = {each.offset: each.ingested_at for each in self.stored}
        batches: dict[datetime, dict[str, list[Row]]] = {
            stamp: defaultdict(list) for stamp in stamps.values()
        }
        parts = ("events", "rejected", "duplicates")
        for name in parts:
            for row in getattr(self.oracle, name):
                batches[stamps[row["offset"]]][name].append(row)
        taken, rows = Counter(stamps.values()), []
        for number, (stamp, batch) in enumerate(sorted(batches.items())):
            behind = {row["event_id"] for row in batch["events"] if row["event_time"] <= reached}
            reached = max([reached, *(row["event_time"] - _DELAY for row in batch["events"])])
            late |= behind
            reported = {"late": len(behind), **{name: len(batch[name]) for name in parts[1:]}}
            for order, job in enumerate(("ingest", "refine", "repair", "publish")):
                row = {
                    "job": job,
                    "batch_id": number,
                    "input_rows": taken[stamp],
                    "output_rows": taken[stamp] if job == "ingest" else len(batch["events"]),
                    "started_at": stamp + timedelta(seconds=4 * order),
                    "seconds": round(chance.uniform(0.8, 1.6) * (1.0, 2.4, 1.2, 3.1)[order], 3),
                    "watermark": None if job == "ingest" else _time(reached),
                    "position": stamp,
                }
                rows.append({**row, **(reported if job == "refine" else dict.fromkeys(reported, 0))})
        return rows, late

    def _panes(self, traffic: list[Row], late: set[str]) -> tuple[list[Row], list[Row]]:
        """Rows of gold.traffic with panes: now, and before late events."""
        uids = [event["event_id"] for event in self.oracle.gold.events]
        facts = dict(zip(uids, self.oracle.windows._facts, strict=False))  # drops facts of bot refunds
        brought: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for uid in late & facts.keys():
            for window in windows_of(facts[uid]["at"]):
                for channel in {None, facts[uid]["channel"]}:
                    brought[(*window, channel)].append(facts[uid])
        rows: list[Row] = []
        on_time: list[Row] = []
        for window in traffic:
            key = tuple(window[name] for name in ("window_kind", "window_start", "window_end", "channel"))
            came = brought.get(key, [])
            pane = "early" if not window["is_complete"] else "late" if came else "on_time"
            row = {**window, "pane": pane, "revision": bool(came) + 1}
            rows.append(row)
            if window["is_complete"] and len(came) < window["events"]:
                on_time.append(_without(row, came))
        return rows, on_time

    def _channel_credit(self) -> list[Row]:
        """Invented credit of data-driven models: `linear` credit, slightly changed, for the last 30 days."""
        credit: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for row in self.oracle.gold.attribution:
            if row["model"] == "linear":
                credit[row["channel"]][0] += row["credit"] * row["is_counted"]
                credit[row["channel"]][1] += float(row["credited_reporting_value"] or 0)
        end = self.watermark
        return [
            {
                "period_start": end - timedelta(days=30),
                "period_end": end,
                "model": model,
                "channel": channel,
                "conversions": conversions * bend,
                "reporting_value": round(Decimal(value * bend), 4),
                "model_version": "3",
            }
            for number, (channel, (conversions, value)) in enumerate(sorted(credit.items()))
            for model, bend in (
                ("markov", 0.9 + 0.05 * (number % 5)),
                ("shapley", 1.05 - 0.03 * (number % 4)),
            )
        ]


def _without(row: Row, came: list[Row]) -> Row:
    """A complete window before late events."""
    less = {name: row[name] - sum(fact[name] for fact in came) for name in _SUMS}
    return {**row, **less, "events": row["events"] - len(came), "pane": "on_time", "revision": 1}


def _stamp(at: datetime) -> datetime:
    """The ingest stamp of a record's batch."""
    return _EPOCH + -(-(at - _EPOCH) // _BATCH) * _BATCH


def _time(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def typed(table: str, row: Row) -> Row:
    """A row with times as datetimes, also in structs."""
    if table not in TABLES:
        return row
    times = {column.name for column in TABLES[table].columns if column.type == "timestamp"}
    reported = {name: _time(row[name]) if isinstance(row.get(name), int) else row.get(name) for name in times}
    nested = {
        name: {**row[name], "at": _time(row[name]["at"])}
        for name in ("visit", "impression")
        if isinstance(row.get(name), dict)
    }
    return {name: value for name, value in {**row, **reported, **nested}.items() if name in schema_of(table)}
