"""The shop's traffic as it happens: paced, and stamped with the clock."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from time import monotonic, time

from millrace.clients.record import Record
from millrace.sample_shop.daily_rhythm import steady
from millrace.sample_shop.traffic_stream import EVENTS_PER_VISIT, simulate
from millrace.shutdown_signal import ShutdownSignal


def live_records(seed: int, rate: float, events: int | None, stop: ShutdownSignal) -> Iterator[Record]:
    """Records at a rate, arriving now, until the user stops or so many have gone.

    Visits are as frequent as the rate needs, at any hour; within a visit, time passes as it would.
    A second run with the same seed makes other visitors: their events are new, not copies.

    Args:
        seed: of the chance that decides, together with the time of the start.
        rate: records per second.
        events: how many in all; None for no end.
        stop: ends the pauses.
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
        # A pause of the machine is not made up for by a burst of more than a second.
        due = max(due + 1 / rate, monotonic() - 1.0)
