"""Readers whose queries have taken much processor time lately give way to others."""

import pytest

from serving.processes.shares import Shares


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("share", "nice"), [(0.0, 0), (0.1, 0), (0.2, 0), (0.5, 6), (1.0, 19), (2.0, 19)])
def test_niceness_follows_share_of_a_core(share: float, nice: int) -> None:
    clock = Clock()
    shares = Shares(clock)
    for _ in range(600):
        clock.now += 0.1
        shares.add("reader", 0.1 * share)
    assert shares.nice("reader") in (nice, nice - 1)
    assert shares.nice("other") == 0


def test_processor_time_is_forgotten() -> None:
    clock = Clock()
    shares = Shares(clock)
    shares.add("reader", 30.0)
    assert shares.nice("reader") == 19
    clock.now += 40.0
    assert shares.nice("reader") <= 1


def test_forgotten_readers_take_no_memory() -> None:
    clock = Clock()
    shares = Shares(clock)
    for number in range(1_000):
        shares.add(f"reader {number}", 0.1)
        clock.now += 1.0
    assert len(shares._used) < 100
