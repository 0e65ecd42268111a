"""The audit while traffic is written and all jobs run: no false alarm, and a lost event is found."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from kit.home import JOBS, ROOT, Home, command
from kit.polling import eventually
from kit.tables import folder
from millrace.audit.comparisons import run_audit

pytestmark = pytest.mark.long

AUDITS = 60
RATE = 200  # events a second
START_SECONDS = 600


@contextmanager
def running(home: Home, *arguments: str) -> Iterator[None]:
    """Run a command until the block ends."""
    with (home.path / f"{arguments[0]}.log").open("wb") as log:
        process = subprocess.Popen(command(*arguments), env=home.env, cwd=ROOT, stdout=log, stderr=log)
        try:
            yield
            assert process.poll() is None, f"it ended: {(home.path / f'{arguments[0]}.log').read_text()}"
        finally:
            process.terminate()
            process.wait(120)


def wrong(home: Home) -> list[str]:
    """Differences that the audit finds."""
    return [f"{each.what}: {each.detail}" for each in run_audit(home.settings) if not each.is_right]


def versions(home: Home) -> tuple[int, ...]:
    return tuple(DeltaTable(folder(home, name)).version() for name in ("silver.events", "gold.conversions"))


def remove_event(home: Home) -> None:
    """Delete an event. Repeated if a job commits at the same time."""
    while True:
        table = DeltaTable(folder(home, "silver.events"))
        event = pl.scan_delta(table).select("event_id").head(1).collect().item()
        try:
            table.delete(f"event_id = '{event}'")
        except CommitFailedError:
            continue
        return


def test_audits_of_a_running_home_are_right_and_find_a_lost_event(new_home: Callable[..., Home]) -> None:
    home = new_home()
    home.must("produce", "--events", "2000", "--seed", "7")
    with running(home, "run", *JOBS), running(home, "produce", "--rate", str(RATE), "--seed", "8"):
        eventually(lambda: Path(folder(home, "gold.traffic")).is_dir(), START_SECONDS, "gold has windows")
        before = versions(home)
        for _ in range(AUDITS):
            assert wrong(home) == []
        assert all(later > earlier for later, earlier in zip(versions(home), before, strict=True))
        remove_event(home)
        eventually(lambda: any(line.startswith("bronze = silver") for line in wrong(home)), 60)
