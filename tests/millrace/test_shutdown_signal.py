"""What a signal does to a run, step by step."""

import os
import signal
import threading

import pytest

from kit.polling import eventually
from lakehouse.errors import MillraceError
from millrace import shutdown_signal
from millrace.shutdown_signal import GracefulShutdown


def test_before_there_is_anything_to_cut_off_the_start_ends() -> None:
    with (
        GracefulShutdown().on_signals(),
        pytest.raises(MillraceError, match="stopped before Spark was ready"),
    ):
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_cuts_off(number: signal.Signals) -> None:
    cuts: list[float] = []
    with GracefulShutdown().on_signals() as ending:
        ending.interrupt_by(lambda: cuts.append(1))
        os.kill(os.getpid(), number)
        assert ending.requested.is_set()
        assert cuts == []
        os.kill(os.getpid(), number)
        assert cuts == [1]


def test_the_grace_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutdown_signal, "GRACE_SECONDS", 0.1)
    cut = threading.Event()
    with GracefulShutdown().on_signals() as ending:
        ending.interrupt_by(cut.set)
        os.kill(os.getpid(), signal.SIGTERM)
        eventually(cut.is_set, 10)


def test_signals_mean_what_they_meant_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with GracefulShutdown().on_signals():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
