"""How the job dimensions plans its micro-batches, without tables."""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kit.records import NOON
from lakehouse.run.job import JobContext
from lakehouse.settings import load_settings
from shop import dimensions_job
from shop.dimensions_job import dimensions

MARKS = {"silver.shop_changes": NOON, "silver.rejected_changes": NOON + timedelta(minutes=1)}


def context(marks: dict[str, datetime]) -> JobContext:
    lake = SimpleNamespace(high_water_mark=marks.get)
    return cast("JobContext", SimpleNamespace(job="dimensions", lake=lake, settings=load_settings()))


@pytest.mark.parametrize("table", MARKS)
def test_interrupted_batch_is_repeated_through_the_latest_mark_of_its_tables(
    monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    planned: dict[str, Any] = {}
    monkeypatch.setattr(dimensions_job, "_has_changes", lambda _run: True)
    monkeypatch.setattr(dimensions_job, "run_microbatches", lambda *_args, **given: planned.update(given))
    later = MARKS[table] + timedelta(hours=1)
    dimensions(context({**MARKS, table: later}))
    assert planned["processed_through"] == later
