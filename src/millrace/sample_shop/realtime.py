"""Live traffic of the shop: paced, with timestamps of the real clock."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from time import monotonic, time

from millrace.clients.record import Record
from millrace.sample_shop.daily_rhythm import steady
from millrace.sample_shop.traffic_stream import EVENTS_PER_VISIT, simulate
from millrace.shutdown_signal import ShutdownSignal


def live_records(seed: int, rate: float, events: int | None, stop: ShutdownSignal) -> Iterator[Record]:
    """Live records at a constant rate, until the user stops or the number is reached.

    The frequency of visits follows from the rate; within a visit, simulated time passes. Another run
    with the same seed has other visitors: its events are new, not copies.

    Args:
        seed: random seed, combined with the start time.
        rate: records per second.
        events: number of records; None for no end.
        stop: interrupts pauses.
    """
    began = time()
    rng = Random(f"{seed} {began}")
    arrivals = simulate(rng, began, rate / EVENTS_PER_VISIT, steady)
    due = monotonic()
    for arrival in islice(arrivals, events):
        if (ahead := due - monotonic()) > 0:
            stop.pause(ahead)
        if stop.requested:
            return
        yield arrival.record(time(), rng)
        # After a pause of the machine, at most one second's records are sent in a burst.
        due = max(due + 1 / rate, monotonic() - 1.0)
