"""Finds the records of cost files behind rows."""

from collections.abc import Sequence
from typing import NamedTuple

import narwhals as nw

from millrace.tables.table_scan import Row
from millrace.trace.history import History

RECORDS, COSTS, PERFORMANCE = "silver.cost_records", "silver.campaign_costs", "gold.campaign_performance"
_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")
_LOAD = ("platform", "account", "day", "load_id")


class CostRecords(NamedTuple):
    """Rows behind costs.

    Args:
        counted: rows of silver.cost_records that are part of the costs.
        context: the others of the same loads and days: a load counts once all of its rows are here.
        rates: rows of silver.exchange_rates that the costs are converted by.
    """

    counted: list[Row]
    context: list[Row]
    rates: list[Row]


def find_costs(history: History, table: str, rows: Sequence[Row]) -> CostRecords:
    """The records of cost files that rows of a table are computed from."""
    if table == PERFORMANCE:
        rows = _of_campaigns(history, rows)
    elif table != COSTS:
        rows = []
    if not rows:
        return CostRecords([], [], [])
    loads: dict[tuple[object, ...], set[str]] = {}
    for row in rows:
        loads.setdefault(tuple(row[name] for name in _LOAD), set()).update(row["sent_names"])
    named = nw.col("load_id").is_in(sorted({row["load_id"] for row in rows}))
    sent = [(row, loads.get(tuple(row[name] for name in _LOAD))) for row in history.find(RECORDS, named)]
    return CostRecords(
        [row for row, names in sent if names is not None and row["campaign_name"] in names],
        [row for row, names in sent if names is not None and row["campaign_name"] not in names],
        _rates(history, rows),
    )


def _of_campaigns(history: History, rows: Sequence[Row]) -> list[Row]:
    """Costs of the days and campaigns of rows of gold.campaign_performance."""
    wanted = {(row["day"], *(row[name] for name in _CAMPAIGN)) for row in rows}
    costs = history.find(COSTS, nw.col("day").is_in(sorted({row["day"] for row in rows})))
    return [row for row in costs if (row["day"], *(row[name] for name in _CAMPAIGN)) in wanted]


def _rates(history: History, costs: Sequence[Row]) -> list[Row]:
    used = {(row["currency"], row["rate_valid_from"]) for row in costs if row["rate_valid_from"]}
    known = history.find(
        "silver.exchange_rates", nw.col("currency").is_in(sorted({currency for currency, _ in used}))
    )
    return [row for row in known if (row["currency"], row["valid_from"]) in used]
