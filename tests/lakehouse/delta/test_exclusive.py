"""Locks of tables."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from lakehouse.delta import exclusive
from lakehouse.delta.exclusive import lock_of


def test_threads_that_ask_first_at_once_get_one_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def create() -> threading.RLock:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # both threads are here unless creation is locked
        return threading.RLock()

    monkeypatch.setattr(exclusive._LOCKS, "default_factory", create)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lock_of, [tmp_path] * 2, ["silver.events"] * 2)
    assert first is second
