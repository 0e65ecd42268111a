"""The project's own sample traffic as Kafka holds it: bytes, and the time that Kafka gives each record.

To what goes wrong in it anyway, some messages lack the device's time of sending, so that a wrong clock is not
corrected, and some the server's clock, so that Kafka's counts.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import islice
from random import Random

from kit.records import Record
from millrace.clients.record import Record as Sent
from millrace.sample_shop.sample_rates import late_rates, monthly_rates
from millrace.sample_shop.segment_messages import encode
from millrace.sample_shop.traffic_stream import (
    DEFAULT_START,
    EVENTS_PER_DAY,
    EVENTS_PER_VISIT,
    Arrival,
    simulate,
)

_PARTITIONS = 3
_EVERY = 20
_LACKING = {7: "sentAt", 13: "receivedAt"}  # by the number of the record, modulo `_EVERY`


def sample(events: int, seed: int = 7) -> list[Record]:
    """So many records of the topic of events, and the exchange rates around them, as they arrive.

    Copies are byte for byte what they are copies of, and have the same arrival: else which one stays, which
    follows from the order, would show in the tables. For the same reason no two rates differ that are valid
    from the same time.
    """
    sent = list(_events(events, seed))
    last = sent[-1].timestamp
    before = list(_rates(monthly_rates(seed, "EUR", DEFAULT_START, last), DEFAULT_START))
    return [*before, *sent, *_rates(late_rates(seed, "EUR", DEFAULT_START), last), *before]


def _events(events: int, seed: int) -> Iterator[Record]:
    rng = Random(seed)
    visits_per_second = EVENTS_PER_DAY / timedelta(days=1).total_seconds() / EVENTS_PER_VISIT
    arrivals = simulate(rng, DEFAULT_START.timestamp(), visits_per_second, by_the_hour=True)
    for number, arrival in enumerate(islice(arrivals, events)):
        value = arrival.step.value if arrival.is_copy else _write(arrival, number, rng)
        at = datetime.fromtimestamp(round(arrival.at * 1000) / 1000, timezone.utc)
        yield Record(value, timestamp=at, partition=number % _PARTITIONS)


def _write(arrival: Arrival, number: int, rng: Random) -> bytes:
    """The bytes of what arrives for the first time; `step.value` is what copies are made of, if any."""
    value, step = arrival.record(arrival.at, rng).value, arrival.step
    lacking = _LACKING.get(number % _EVERY)
    if step.value and lacking:
        value = encode({name: reported for name, reported in step.message.items() if name != lacking})
        step.value = value if lacking == "sentAt" else b""  # by Kafka's clock, a copy arrives later
    return value


def _rates(reported: Iterator[Sent], at: datetime) -> Iterator[Record]:
    for rate in reported:
        yield Record(rate.value, timestamp=at, topic="exchange_rates")
