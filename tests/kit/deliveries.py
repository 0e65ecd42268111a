"""Visits as they arrive at the server: with wrong clocks, late, duplicated, in batches."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from kit.drawing import draw_examples
from kit.records import Record, instant, record
from kit.scenarios import of_story, visits

_BEGINNINGS = st.sampled_from([timedelta(0), timedelta(minutes=20), timedelta(days=1), timedelta(days=33)])
_LATENESS = st.sampled_from(
    [
        *([timedelta(seconds=1)] * 6),
        *(
            timedelta(minutes=1),
            timedelta(minutes=10),
            timedelta(minutes=10, microseconds=1),
            timedelta(minutes=40),
        ),
        *(timedelta(hours=5), timedelta(days=2), timedelta(days=40), timedelta(days=200)),
    ]
)
_WRONG_BY = st.sampled_from(
    [timedelta(hours=-3), timedelta(minutes=20), timedelta(days=400), timedelta(days=-9000), timedelta(0)]
)
_CLOCKS = st.sampled_from(["right", "right", "right", "corrected", "corrected upstream", "wrong"])


@dataclass(frozen=True)
class Delivery:
    """A record, its arrival time at the server, and the number of its story."""

    story: int
    arrives: datetime
    record: Record

    def __str__(self) -> str:
        return f"{self.arrives:%m-%d %H:%M:%S.%f} {(self.record.value or b'').decode()}"


@st.composite
def _delivered(draw: st.DrawFn) -> list[tuple[dict[str, Any], datetime]]:
    """The messages of one story with their arrival times; duplicates have their own arrival time."""
    begins = draw(_BEGINNINGS)
    return [_send(draw, body, begins) for body, _ in draw(visits())]


def _send(draw: st.DrawFn, body: dict[str, Any], begins: timedelta) -> tuple[dict[str, Any], datetime]:
    at = datetime.fromisoformat(body["originalTimestamp"].replace("Z", "+00:00")) + begins
    arrives, clock = at + draw(_LATENESS), draw(_CLOCKS)
    wrong_by = timedelta(0) if clock == "right" else draw(_WRONG_BY)
    times = {"originalTimestamp": instant(at + wrong_by)}
    if clock == "corrected":
        times |= {"sentAt": instant(arrives + wrong_by), "receivedAt": instant(arrives)}
    if clock == "corrected upstream":
        times |= {"timestamp": instant(at)}
    return {**body, **times}, arrives


def deliver(stories: int, number: int = 0) -> list[Delivery]:
    """Deliveries of stories with disjoint names. See `draw_examples` for `number`."""
    reported = draw_examples(_delivered(), stories, number)
    return [
        Delivery(story, arrives, record(of_story(body, f"s{story}-"), timestamp=arrives))
        for story, bodies in enumerate(reported)
        for body, arrives in bodies
    ]


def cut(deliveries: list[Delivery], batches: int, number: int = 0) -> list[list[Record]]:
    """The records in order of arrival, in batches of random size, each shuffled over three partitions."""
    chance = random.Random(number)
    in_order = sorted(deliveries, key=lambda each: (each.arrives, chance.random()))
    cuts = sorted(chance.sample(range(1, len(in_order)), batches - 1))
    found = []
    for low, high in zip([0, *cuts], [*cuts, len(in_order)], strict=True):
        batch = [each.record for each in in_order[low:high]]
        chance.shuffle(batch)
        found.append([_placed(each, chance.randrange(3)) for each in batch])
    return found


def _placed(each: Record, partition: int) -> Record:
    return Record(each.value, each.headers, each.timestamp, each.topic, partition)


def describe_deliveries(deliveries: list[Delivery], difference: str) -> str:
    """The shortest story named in a difference, one record per line."""
    named = [each for each in deliveries if f"s{each.story}-" in difference]
    by_story = [[each for each in named if each.story == story] for story in {each.story for each in named}]
    shortest = min(by_story, key=len, default=[])
    return "\n".join(str(each) for each in sorted(shortest, key=lambda each: each.arrives))
