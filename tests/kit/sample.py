"""The sample traffic as Kafka records: bytes, and Kafka timestamps.

In addition to its usual errors, some messages lack `sentAt`, so that a wrong clock is not corrected, and some
lack `receivedAt`, so that the Kafka timestamp is used.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import islice
from random import Random

from kit.records import Record
from millrace.clients.record import Record as Sent
from millrace.sample_shop.daily_rhythm import weight_at
from millrace.sample_shop.sample_costs import corrected_costs, daily_costs
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
_LACKING = {7: "sentAt", 13: "receivedAt"}  # by number of the record modulo `_EVERY`


def sample(events: int, seed: int = 7) -> list[Record]:
    """Event records with exchange rates and costs before and after them, in order of arrival.

    Duplicates are identical to the original, including the arrival time. Otherwise the tables would depend
    on which copy comes first. For the same reason, rates with the same start have the same value.
    """
    sent = list(_events(events, seed))
    last = sent[-1].timestamp
    before = list(
        _side_input("exchange_rates", monthly_rates(seed, "EUR", DEFAULT_START, last), DEFAULT_START)
    )
    before += _side_input("campaign_costs", daily_costs(seed, DEFAULT_START, last), DEFAULT_START)
    after = list(_side_input("exchange_rates", late_rates(seed, "EUR", DEFAULT_START), last))
    after += _side_input("campaign_costs", corrected_costs(seed, DEFAULT_START), last)
    return [*before, *sent, *after, *before]


def _events(events: int, seed: int) -> Iterator[Record]:
    rng = Random(seed)
    visits_per_second = EVENTS_PER_DAY / timedelta(days=1).total_seconds() / EVENTS_PER_VISIT
    arrivals = simulate(rng, DEFAULT_START.timestamp(), visits_per_second, weight_at)
    for number, arrival in enumerate(islice(arrivals, events)):
        value = arrival.step.value if arrival.is_copy else _write(arrival, number, rng)
        at = datetime.fromtimestamp(round(arrival.at * 1000) / 1000, timezone.utc)
        yield Record(value, timestamp=at, partition=number % _PARTITIONS)


def _write(arrival: Arrival, number: int, rng: Random) -> bytes:
    """The bytes of a first arrival. Copies reuse `step.value`."""
    value, step = arrival.record(arrival.at, rng).value, arrival.step
    lacking = _LACKING.get(number % _EVERY)
    if step.value and lacking:
        value = encode({name: reported for name, reported in step.message.items() if name != lacking})
        step.value = value if lacking == "sentAt" else b""  # by Kafka timestamp, copies arrive later
    return value


def _side_input(topic: str, reported: Iterator[Sent], at: datetime) -> Iterator[Record]:
    for each in reported:
        yield Record(each.value, timestamp=at, topic=topic)
