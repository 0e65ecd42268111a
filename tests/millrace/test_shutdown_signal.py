"""Graceful shutdown: first signal, second signal and grace period."""

import os
import signal
import threading

import pytest

from kit.polling import eventually
from lakehouse.errors import MillraceError
from millrace import shutdown_signal
from millrace.shutdown_signal import GracefulShutdown


def test_signal_before_spark_is_ready_aborts_start() -> None:
    with (
        GracefulShutdown().on_signals(),
        pytest.raises(MillraceError, match="stopped before Spark was ready"),
    ):
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_requests_shutdown_and_second_interrupts(number: signal.Signals) -> None:
    interrupts: list[float] = []
    with GracefulShutdown().on_signals() as shutdown:
        shutdown.interrupt_by(lambda: interrupts.append(1))
        os.kill(os.getpid(), number)
        assert shutdown.requested.is_set()
        assert interrupts == []
        os.kill(os.getpid(), number)
        assert interrupts == [1]


def test_run_is_interrupted_after_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutdown_signal, "GRACE_SECONDS", 0.1)
    interrupted = threading.Event()
    with GracefulShutdown().on_signals() as shutdown:
        shutdown.interrupt_by(interrupted.set)
        os.kill(os.getpid(), signal.SIGTERM)
        eventually(interrupted.is_set, 10)


def test_signal_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with GracefulShutdown().on_signals():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
