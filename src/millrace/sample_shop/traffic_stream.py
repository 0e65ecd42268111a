"""The shop's traffic in order of arrival: a pure function of seed, number and start."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import count, islice, takewhile
from random import Random

from millrace.clients.record import Record, key_of
from millrace.sample_shop.action import Step
from millrace.sample_shop.daily_rhythm import Weight, demo_weight_at, next_visit, weight_at
from millrace.sample_shop.fault_injection import corrupt, sent_again
from millrace.sample_shop.segment_messages import write
from millrace.sample_shop.shop_visits import crawl, leftovers, visit_shop
from millrace.sample_shop.visitors import Crowd

DEFAULT_SEED = 7
DEFAULT_START = datetime(2026, 3, 2, tzinfo=timezone.utc)
"""A Monday; fixed, so that the same command always gives the same bytes."""

EVENTS_PER_DAY = 66_667
"""Events per day of a small shop: 200,000 events are about three days."""

EVENTS_PER_VISIT = 9.3
"""Mean events per visit, measured over many seeds; converts rates of events to rates of visits."""

_COPIES = 0.006
_CORRUPT = 0.003
_HELD_BACK = 0.012
_LEFT_OVER = 0.05
"""Share of visits that begin with steps which could not be sent earlier."""


@dataclass(slots=True)
class Arrival:
    """A step that will arrive at the server, before it is encoded with the server's clock."""

    step: Step
    at: float
    is_copy: bool = False

    def record(self, clock: float, rng: Random) -> Record:
        """The record of the step, which arrives at `clock` (epoch seconds, server's clock)."""
        waited = max(self.at - self.step.at, 0.0)
        if self.is_copy:
            value = sent_again(self.step, clock, waited, rng)
            return Record(key_of(value), value)
        value = write(self.step, clock, waited, rng)
        if rng.random() < _CORRUPT:
            value, self.step.value = corrupt(self.step, clock, rng), b""
            return Record(key_of(value), value)
        identity: str = self.step.message.get("anonymousId") or self.step.message["userId"]
        return Record(identity.encode(), value)


def generate(seed: int, events: int, start: datetime = DEFAULT_START) -> Iterator[Record]:
    """A number of records of simulated days, in order of arrival.

    Args:
        seed: the same seed, number and start give the same bytes in the same order.
        events: number of records, including copies and broken records.
        start: start of the simulation; UTC if it has no time zone.
    """
    rng = Random(seed)
    visits_per_second = EVENTS_PER_DAY / 86_400 / EVENTS_PER_VISIT
    arrivals = simulate(rng, _epoch(start), visits_per_second, weight_at)
    for arrival in islice(arrivals, events):
        yield arrival.record(arrival.at, rng)


def generate_span(seed: int, rate: float, start: datetime, until: datetime) -> Iterator[Record]:
    """The records that arrive between two times, in order of arrival, like live traffic.

    Args:
        seed: the same arguments give the same bytes in the same order.
        rate: records per second, on average over a day.
        start: start of the simulation; UTC if it has no time zone.
        until: end of the arrivals, excluded.
    """
    rng, end = Random(seed), _epoch(until)
    arrivals = simulate(rng, _epoch(start), rate / EVENTS_PER_VISIT, demo_weight_at)
    for arrival in takewhile(lambda each: each.at < end, arrivals):
        yield arrival.record(arrival.at, rng)


def _epoch(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()


def simulate(rng: Random, start: float, visits_per_second: float, weight: Weight) -> Iterator[Arrival]:
    """Arrivals without end. The caller must create the record of each before it requests the next.

    Args:
        rng: random generator.
        start: simulated second of the first visit.
        visits_per_second: mean number of visits per second.
        weight: traffic at a second, relative to the mean.
    """
    crowd, ticket = Crowd(rng), count()
    on_the_way: list[tuple[float, int, Arrival]] = []
    now = start
    for number in count(1):
        while on_the_way and on_the_way[0][0] <= now:
            arrival = heapq.heappop(on_the_way)[2]
            yield arrival
            if arrival.step.value and not arrival.is_copy and rng.random() < _COPIES:
                again = Arrival(arrival.step, arrival.at + _retry_delay(rng), is_copy=True)
                heapq.heappush(on_the_way, (again.at, next(ticket), again))
        for step, at in _begin_visit(number, now, crowd, rng):
            heapq.heappush(on_the_way, (at, next(ticket), Arrival(step, at)))
        now = next_visit(now, visits_per_second, weight, rng)


def _begin_visit(number: int, now: float, crowd: Crowd, rng: Random) -> list[tuple[Step, float]]:
    """The steps of the next visit, each with the second of its arrival."""
    if number % 5000 == 40:
        return _sent_soon(crawl(crowd.scraper(), now, rng, pages=150, seconds_apart=0.2), rng)
    if rng.random() < 0.015:
        pages = rng.randrange(8, 30)
        return _sent_soon(crawl(crowd.crawler(), now, rng, pages, seconds_apart=2.5), rng)
    visitor = crowd.choose()
    late = leftovers(visitor, now, rng) if rng.random() < _LEFT_OVER else []
    visit = _sent_soon(visit_shop(visitor, now, rng), rng)
    return [(step, now + rng.uniform(0.2, 3.0)) for step in late] + visit


def _sent_soon(steps: list[Step], rng: Random) -> list[tuple[Step, float]]:
    """Add arrival times: most within a second, some delayed by a bad connection for minutes or hours."""
    return [
        (step, step.at + (_held_back(rng) if rng.random() < _HELD_BACK else 0.05 + rng.expovariate(3.0)))
        for step in steps
    ]


def _held_back(rng: Random) -> float:
    """A delay of one minute to three hours (s), uniform on a logarithmic scale."""
    return float(60.0 * 180.0 ** rng.random())


def _retry_delay(rng: Random) -> float:
    """A delay of one second to ten minutes (s); for one retry in ten, hours up to two days."""
    return float(172_800.0 ** rng.uniform(0.7, 1.0) if rng.random() < 0.1 else 600.0 ** rng.random())
