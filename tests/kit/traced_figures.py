"""Figures of gold that are computed again from their traced records alone."""

from collections.abc import Sequence
from random import Random
from typing import Any

import polars as pl

from kit.oracle import Oracle
from kit.pipeline import expected_rows, plain, shown
from kit.records import Record, Stored
from lakehouse.contracts import TABLES
from lakehouse.settings import Settings
from lakehouse.timestamps import rfc3339
from millrace.trace.records import TracedRecord, trace

CREDITS, WINDOWS, STEPS = "gold.attribution", "gold.traffic", "gold.funnel"
_NOT_COMPARED = frozenset(
    (
        *("is_complete", "is_final", "due_at", "is_open", "outcome"),  # the watermark, which all records move
        *("properties", "event_hash", "row_hash"),  # the oracle does not know them
    )
)


def choose_figures(settings: Settings, count: int, seed: int) -> list[tuple[str, dict[str, Any]]]:
    """Rows chosen at random from steps of funnels and credits, at most a third each, and windows."""
    chance = Random(seed)
    found: list[tuple[str, dict[str, Any]]] = []
    for name, wanted in ((STEPS, count // 3), (CREDITS, count // 3), (WINDOWS, count)):
        rows = pl.read_delta(str(settings.warehouse.joinpath(*name.split(".")))).to_dicts()
        rows.sort(key=lambda row: [str(row[column]) for column in TABLES[name].key])
        chosen = chance.sample(rows, min(len(rows), wanted, count - len(found)))
        found += [(name, row) for row in chosen]
    return found


def key_texts(name: str, row: dict[str, Any]) -> list[str]:
    """The key of a row as arguments of `millrace trace`."""
    return [_text(row[column]) for column in TABLES[name].key]


def recomputed(records: Sequence[TracedRecord], settings: Settings) -> Oracle:
    """The oracle over records as bronze has them, and over nothing else."""
    topics = {
        settings.events_topic: "events",
        settings.exchange_rates_topic: "exchange_rates",
        settings.campaign_costs_topic: "campaign_costs",
        settings.shop_changes_topic: "shop_changes",
    }
    return Oracle.over(
        Stored(
            Record(
                each.stored["value"],
                tuple((header["key"], header["value"]) for header in each.stored["headers"] or ()),
                each.stored["timestamp"],
                topics[each.place.topic],
                each.place.partition,
                each.stored["key"],
            ),
            each.place.offset,
            each.stored["ingested_at"],
        )
        for each in records
        if each.stored is not None
    )


def assert_figure_follows_from_records(settings: Settings, name: str, row: dict[str, Any]) -> int:
    """Trace a row, compute it from the traced records alone, and compare. Returns the number of records."""
    found = trace(settings, name, key_texts(name, row))
    assert found.rows == [row], (name, row, len(found.rows))
    assert all(each.stored is not None for each in found.records), name
    assert found.records or not row.get("visitors", 1), (name, row)
    oracle = recomputed(found.records, settings)
    table = TABLES[name]
    columns = [each for each in table.deterministic_columns if each not in _NOT_COMPARED]
    wanted = plain(row)
    again = [plain(each) for each in expected_rows(oracle)[name]()]
    same = [each for each in again if all(each[column] == wanted[column] for column in table.key)]
    if not row.get("visitors", 1):  # a step that nobody reached has a row for the sake of the other steps
        same = same or [wanted]
    assert [_shown(each, columns) for each in same] == [_shown(wanted, columns)], (name, key_texts(name, row))
    return len(found.records)


def _shown(row: dict[str, Any], columns: Sequence[str]) -> dict[str, str]:
    return {column: shown(row[column]) for column in columns}


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return rfc3339(value) if hasattr(value, "hour") else str(value)
