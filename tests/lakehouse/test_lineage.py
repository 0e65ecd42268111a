"""Inputs and writers of the contracts, against what jobs read and in which order they rebuild."""

from types import ModuleType
from unittest.mock import MagicMock

import pytest

from gold import publish_job
from gold.daily.inputs import _inputs
from gold.daily.update import QUERIES
from gold.gate.gate_view import _SILVER
from kit.home import JOBS
from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.lineage import downstream_of, tables_of, upstream_jobs
from lakehouse.rows.sql import _DuckDB
from lakehouse.run.rebuild import stale_after
from millrace.operations.rebuild import definitions
from silver import refine_job, repair_job


@pytest.mark.parametrize("name", TABLES)
def test_inputs_are_tables_and_lead_back_to_bronze_or_nowhere(name: str) -> None:
    assert set(TABLES[name].inputs) <= set(TABLES)
    assert name not in downstream_of([name]), "a table is computed from itself"
    if TABLES[name].layer in ("silver", "gold"):
        assert name in downstream_of(["bronze.kafka_records"])
        assert TABLES[name].writer


def test_the_gate_pins_every_table_of_silver() -> None:
    assert set(_SILVER) == {table.name for table in tables_of("silver")}
    assert set(_SILVER.values()) == {"refine", "repair"}


def test_tables_are_rebuilt_after_their_inputs() -> None:
    order = list(definitions())
    for name in order:
        later = set(order[order.index(name) :])
        assert not later & set(TABLES[name].inputs), name


@pytest.mark.parametrize("name", QUERIES)
def test_a_daily_query_reads_the_inputs_of_its_contract(name: str) -> None:
    query, inputs = QUERIES[name](_DuckDB()), _inputs(("Order Completed",))
    read = {each.table.name for alias, each in inputs.items() if f"{{{alias}}}" in query}
    assert read == set(TABLES[name].inputs) - {"silver.bots"}


def test_tables_that_a_rebuild_writes_as_well_are_not_stale() -> None:
    every = definitions()
    assert stale_after({name: every[name] for name in ("gold.visitor_minutes",)}) == []
    assert "gold.traffic" in stale_after({name: every[name] for name in ("gold.conversions",)})


def test_downstream_tables_are_direct_and_indirect_ones() -> None:
    assert downstream_of(["gold.visitor_minutes"]) == ("gold.traffic",)
    assert "gold.funnel" in downstream_of(["silver.identities"])
    assert downstream_of(["silver.rejected_events"]) == ()


@pytest.mark.parametrize(
    ("name", "module"), [("refine", refine_job), ("repair", repair_job), ("publish", publish_job)]
)
def test_a_job_reads_the_batches_of_its_upstream_job(
    name: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_microbatches = MagicMock()
    for each in ("Refine", "Repair", "Publish", "Gate"):
        monkeypatch.setattr(module, each, MagicMock(), raising=False)
    monkeypatch.setattr(module, "run_microbatches", run_microbatches)
    getattr(module, name)(MagicMock())
    assert run_microbatches.call_args.args[1] == upstream_jobs()[name]


def test_jobs_come_after_those_that_write_their_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tuple(upstream_jobs()) == JOBS
    new = Table("gold.new", "touch", ("touch_id",), (), inputs=("gold.touches",), writer="score")
    monkeypatch.setitem(TABLES, new.name, new)
    assert list(upstream_jobs().items())[len(JOBS) :] == [("score", "publish")]
