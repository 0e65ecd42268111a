"""Waits of jobs while another job waits for them."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from lakehouse.run.draining import draining, is_draining, pause_unless_draining, wait_until_drained

HOME, OTHER = Path("home"), Path("other")


def test_jobs_are_drained_until_the_last_of_those_that_wait_has_ended() -> None:
    with draining(HOME):
        with draining(HOME):
            assert is_draining(HOME)
            assert not is_draining(OTHER)
        assert is_draining(HOME)
    assert not is_draining(HOME)


def test_job_that_fails_ends_the_draining() -> None:
    with pytest.raises(ZeroDivisionError), draining(HOME):
        raise ZeroDivisionError
    assert not is_draining(HOME)


class Stop(threading.Event):
    """Calls a function in the n-th wait, or sets itself, and ends a test that waits too often."""

    def __init__(self, at: int, call: Callable[[], object] | None = None) -> None:
        super().__init__()
        self._call = call or self.set
        self._at = at
        self.waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waits += 1
        assert self.waits < 100
        if self.waits == self._at:
            self._call()
        return self.is_set()


def test_pause_ends_when_a_job_begins_to_wait() -> None:
    with ExitStack() as drain, draining(OTHER):
        stop = Stop(3, lambda: drain.enter_context(draining(HOME)))
        pause_unless_draining(HOME, 600.0, stop)
    assert stop.waits == 3


def test_pause_ends_after_its_time() -> None:
    stop = threading.Event()
    began = time.monotonic()
    pause_unless_draining(HOME, 0.05, stop)
    assert time.monotonic() - began >= 0.05


def test_refine_waits_until_nothing_drains() -> None:
    with ExitStack() as drain:
        drain.enter_context(draining(HOME))
        stop = Stop(3, drain.close)
        wait_until_drained(HOME, stop)
    assert stop.waits == 3


def test_stopped_jobs_wait_no_longer() -> None:
    with draining(HOME):
        stop = Stop(2)
        wait_until_drained(HOME, stop)
    assert stop.waits == 2
    pausing = Stop(2)
    pause_unless_draining(HOME, 600.0, pausing)
    assert pausing.waits == 2
