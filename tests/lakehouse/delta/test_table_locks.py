"""Locks of tables."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from lakehouse.delta import table_locks
from lakehouse.delta.table_locks import TableLocks


def test_threads_that_ask_first_at_once_get_one_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def create() -> threading.RLock:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # both threads are here unless creation is locked
        return threading.RLock()

    monkeypatch.setattr(table_locks._LOCKS, "default_factory", create)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(TableLocks(tmp_path).lock, ["silver.events"] * 2)
    assert first is second
