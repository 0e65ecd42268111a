"""Waits of jobs while another job waits for them."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lakehouse.run.draining import draining, is_draining, pause_unless_draining, wait_until_drained

HOME, OTHER = Path("home"), Path("other")
TIMEOUT = 30.0


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


def in_thread(call: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread


def test_pause_ends_when_a_job_begins_to_wait() -> None:
    stop = threading.Event()
    pause = in_thread(lambda: pause_unless_draining(HOME, 10 * TIMEOUT, stop))
    with draining(OTHER):
        assert pause.is_alive()
    with draining(HOME):
        pause.join(TIMEOUT)
        assert not pause.is_alive()


def test_pause_ends_after_its_time() -> None:
    pause = in_thread(lambda: pause_unless_draining(HOME, 0.01, threading.Event()))
    pause.join(TIMEOUT)
    assert not pause.is_alive()


def test_refine_waits_until_nothing_drains() -> None:
    stop = threading.Event()
    with draining(HOME):
        wait = in_thread(lambda: wait_until_drained(HOME, stop))
        assert wait.is_alive()
    wait.join(TIMEOUT)
    assert not wait.is_alive()


def test_stopped_jobs_wait_no_longer() -> None:
    stop = threading.Event()
    stop.set()
    pause_unless_draining(OTHER, 10 * TIMEOUT, stop)
    with draining(HOME):
        wait_until_drained(HOME, stop)
