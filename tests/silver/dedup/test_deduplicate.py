"""Duplicates across micro-batches, ages, hash collisions and restarts, against a plain loop."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from silver.dedup.deduplicate import FIRST, PLACE, find_duplicates

START = datetime(2025, 3, 1, tzinfo=timezone.utc)
SCHEMA = (
    "event_id string, event_hash bigint, ingested_at timestamp, topic string, partition int, offset bigint"
)


class Entry(NamedTuple):
    event_id: str
    event_hash: int
    ingested_at: datetime
    topic: str
    partition: int
    offset: int

    @property
    def place(self) -> tuple[datetime, str, int, int]:
        return self[2:6]


def entry(uid: str, stamp: int, offset: int, key: int | None = None) -> Entry:
    """A record; unless `key` is given, its hash collides with that of other UIDs of the same length."""
    at = START + timedelta(days=stamp)
    return Entry(uid, len(uid) if key is None else key, at, "events", offset % 2, offset)


class Story:
    """The events accepted so far, deduplicated by a plain loop."""

    def __init__(self, spark: SparkSession, events: Sequence[Entry] = ()) -> None:
        self._spark = spark
        self.events = list(events)

    def expect(self, batch: Sequence[Entry]) -> dict[tuple, tuple]:
        """The duplicates of a batch, with their originals; the other records become events."""
        firsts = {event.event_id: event for event in self.events}
        copies = {}
        for each in sorted(batch, key=lambda each: each.place):
            first = firsts.setdefault(each.event_id, each)
            if first is each:
                self.events.append(each)
            else:
                copies[each.place] = first.place[1:]
        return copies

    def find(self, batch: Sequence[Entry], after: int) -> dict[tuple, tuple]:
        """The duplicates that Spark finds, with their originals."""
        done = START + timedelta(days=after)
        found = find_duplicates(self._frame(batch), self._frame(self.events), done).collect()
        rows = [(row.ingested_at.replace(tzinfo=timezone.utc), *row[1:]) for row in found]
        assert len(rows) == len({row[: len(PLACE)] for row in rows})
        assert len(rows) == 0 or len(rows[0]) == len(PLACE) + len(FIRST)
        return {row[: len(PLACE)]: row[len(PLACE) :] for row in rows}

    def _frame(self, entries: Sequence[Entry]) -> DataFrame:
        return self._spark.createDataFrame([tuple(each) for each in entries], SCHEMA)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_each_batch_finds_the_duplicates_of_a_plain_loop(spark: SparkSession, seed: int) -> None:
    """UIDs with many hash collisions; each batch is repeated after its events were written."""
    chance = random.Random(seed)
    story = Story(spark)
    for number in range(3):
        after, stamps = 2 * number, (2 * number + 1, 2 * number + 2)
        batch = [
            entry(str(chance.randrange(10 ** chance.randrange(1, 4))), chance.choice(stamps), offset)
            for offset in chance.sample(range(1000), 40)
        ]
        first_time = story.find(batch, after)
        assert first_time == story.expect(batch)
        assert story.find(batch, after) == first_time  # its own events are in the table by now


def test_duplicates_are_found_at_every_age(spark: SparkSession) -> None:
    story = Story(spark, [entry(f"u{stamp}", stamp, stamp, key=stamp) for stamp in range(200)])
    copies = [entry(f"u{stamp}", 200, 1000 + stamp, key=stamp) for stamp in range(200)]
    fresh = [entry(f"v{stamp}", 200, 2000 + stamp, key=-1 - stamp) for stamp in range(200)]
    found = story.find(copies + fresh, after=199)
    assert found == story.expect(copies + fresh)
    assert len(found) == 200


def test_hash_collision_is_not_a_duplicate(spark: SparkSession) -> None:
    story = Story(spark, [entry("a", 1, 1, key=7), entry("b", 2, 2, key=7)])
    batch = [entry("c", 3, 3, key=7), entry("b", 3, 4, key=7), entry("c", 3, 5, key=7)]
    found = story.find(batch, after=2)
    assert {place[3]: first[2] for place, first in found.items()} == {4: 2, 5: 3}


def test_events_of_interrupted_batch_are_not_originals(spark: SparkSession) -> None:
    story = Story(spark, [entry("a", 1, 1), entry("b", 2, 2)])  # stamp 2 was written; the ledger says 1
    batch = [entry("b", 2, 2), entry("a", 2, 3)]
    found = story.find(batch, after=1)
    assert {place[3]: first[2] for place, first in found.items()} == {3: 1}
    following = [entry("b", 3, 4)]
    assert [first[2] for first in story.find(following, after=2).values()] == [2]
