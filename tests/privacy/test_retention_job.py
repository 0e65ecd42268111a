"""The job retention: whom it erases by conf/retention.yml."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kit.warehouse_builder import append_rows
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings, load_settings
from millrace.operations import bodies, retention_job
from privacy.requests.register import Register

NOW = datetime.now(timezone.utc)
Apply = Callable[..., list[str]]


@pytest.fixture
def apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apply:
    """Runs the job with a text of conf/retention.yml; returns what it did, in order."""
    did: list[str] = []

    def erase_job(number: str) -> Any:
        return SimpleNamespace(body=lambda run: did.append(f"erase {number}"))

    monkeypatch.setattr(Settings, "conf", tmp_path)
    monkeypatch.setattr(retention_job, "erase_job", erase_job)

    def run(text: str, **more: Any) -> list[str]:
        (tmp_path / "retention.yml").write_text(text)
        settings = load_settings(home=tmp_path, **more)
        context = SimpleNamespace(settings=settings, log=lambda line: None)
        bodies.retention(cast("JobContext", context))
        return did

    return run


def add_visitor(home: Path, visitor: str, days: int) -> None:
    row = {"event_id": visitor, "visitor_id": visitor, "event_time": NOW - timedelta(days=days)}
    append_rows(home, "silver.events", [row])
    append_rows(home, "silver.identities", [])


def test_without_spans_nothing_is_done(apply: Apply, tmp_path: Path) -> None:
    add_visitor(tmp_path, "old", 1000)
    assert apply("persons: null\n") == []
    assert apply("") == []


def test_expired_persons_are_erased_once_an_interrupted_erasure_has_ended(
    apply: Apply, tmp_path: Path
) -> None:
    add_visitor(tmp_path, "old", 31)
    [first] = apply("persons: P30D\n")  # the erasure does not end here
    assert Register(tmp_path).requests()[0].reference == "retention"
    [_, again, second] = apply("persons: P30D\n")
    assert (again, second != first) == (first, True)


def test_job_is_refused_in_a_catalog(apply: Apply) -> None:
    with pytest.raises(MillraceError, match="in a catalog"):
        apply("persons: P90D\n", catalog="shop")
