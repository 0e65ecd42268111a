"""Inputs and writers in the contracts agree with what jobs read, and with the order of rebuilds."""

from types import ModuleType
from unittest.mock import MagicMock

import pytest

from gold import publish_job
from gold.daily.inputs import _inputs
from gold.daily.update import QUERIES
from gold.gate.gate_view import _SILVER
from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.lineage import downstream_of, tables_of, upstream_jobs
from lakehouse.run.rebuild import stale_after
from millrace.operations.rebuild import definitions
from silver import refine_job, repair_job


@pytest.mark.parametrize("name", TABLES)
def test_inputs_are_declared_tables_and_derive_from_bronze(name: str) -> None:
    assert set(TABLES[name].inputs) <= set(TABLES)
    assert name not in downstream_of([name]), "a table is computed from itself"
    if TABLES[name].layer in ("silver", "gold"):
        assert name in downstream_of(["bronze.kafka_records"])
        assert TABLES[name].writer


def test_gate_pins_every_silver_table() -> None:
    of_shop = {table.name for table in tables_of("silver") if table.writer == "dimensions"}
    assert set(_SILVER) == {table.name for table in tables_of("silver")} - of_shop
    assert set(_SILVER.values()) == {"refine", "repair"}


def test_tables_are_rebuilt_after_their_inputs() -> None:
    order = list(definitions())
    for name in order:
        later = set(order[order.index(name) :])
        assert not later & set(TABLES[name].inputs), name


@pytest.mark.parametrize("name", QUERIES)
def test_daily_query_reads_inputs_of_its_contract(name: str) -> None:
    query, inputs = QUERIES[name], _inputs(("Order Completed",))
    used = [each for alias, each in inputs.items() if f"{{{alias}}}" in query]
    read = {each.table.name for each in used}
    read |= {"silver.customers"} if any(each.has_customers for each in used) else set()
    assert read == set(TABLES[name].inputs) - {"silver.bots", "silver.consents"}


def test_tables_written_by_the_same_rebuild_are_not_stale() -> None:
    every = definitions()
    assert stale_after({name: every[name] for name in ("gold.visitor_minutes",)}) == []
    assert "gold.traffic" in stale_after({name: every[name] for name in ("gold.conversions",)})


def test_downstream_tables_include_indirect_ones() -> None:
    assert downstream_of(["gold.visitor_minutes"]) == ("gold.traffic",)
    assert "gold.funnel" in downstream_of(["silver.identities"])
    assert downstream_of(["silver.rejected_events"]) == ()


@pytest.mark.parametrize(
    ("name", "module"), [("refine", refine_job), ("repair", repair_job), ("publish", publish_job)]
)
def test_job_reads_batches_of_its_upstream_job(
    name: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_microbatches = MagicMock()
    for each in ("Refine", "Repair", "Publish", "Gate"):
        monkeypatch.setattr(module, each, MagicMock(), raising=False)
    monkeypatch.setattr(module, "run_microbatches", run_microbatches)
    getattr(module, name)(MagicMock())
    assert run_microbatches.call_args.args[1] == upstream_jobs()[name]


def test_jobs_are_ordered_after_writers_of_their_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = ("ingest", "refine", "dimensions", "repair", "publish")
    assert tuple(upstream_jobs()) == jobs
    new = Table("gold.new", "touch", ("touch_id",), (), inputs=("gold.touches",), writer="score")
    monkeypatch.setitem(TABLES, new.name, new)
    assert list(upstream_jobs().items())[len(jobs) :] == [("score", "publish")]
