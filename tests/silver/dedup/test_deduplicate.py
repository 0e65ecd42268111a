"""Duplicates across micro-batches, ages, hash collisions and restarts, against a plain loop."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from folds.records.parse_rules import load_parse_rules
from kit.records import Bronze, message, record
from kit.spark import empty_home
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.driver_or_spark import local_rows
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import Batch
from lakehouse.timestamps import EPOCH, to_micros
from silver.dedup.deduplicate import ENTRY, FIRST, PLACE, find_duplicates
from silver.dedup.uid_index import UidIndex
from silver.refine import Refine

START = datetime(2025, 3, 1, tzinfo=timezone.utc)
_TYPES = (pa.string(), pa.int64(), pa.int64(), pa.string(), pa.int32(), pa.int64())


class Entry(NamedTuple):
    event_id: str
    event_hash: int
    ingested_at: datetime
    topic: str
    partition: int
    offset: int
    reason: str | None = None
    heartbeat_at: datetime | None = None

    @property
    def place(self) -> tuple[datetime, str, int, int]:
        return self[2:6]


def entry(uid: str, stamp: int, offset: int, key: int | None = None, **more: str) -> Entry:
    """A record; unless `key` is given, its hash collides with that of other UIDs of the same length."""
    at = START + timedelta(days=stamp)
    return Entry(uid, len(uid) if key is None else key, at, "events", offset % 2, offset, **more)


def entries(of: Sequence[Entry]) -> pa.Table:
    """Record keys and UIDs, as silver holds them on the driver."""
    rows = [(each.event_id, each.event_hash, to_micros(each.ingested_at), *each[3:6]) for each in of]
    return local_rows([pa.field(name, type_) for name, type_ in zip(ENTRY, _TYPES, strict=True)], rows)


class Story:
    """The events accepted so far, deduplicated by a plain loop."""

    def __init__(self) -> None:
        self.events: list[Entry] = []

    def uid_index(self) -> UidIndex:
        """A new index of the events accepted so far."""
        return UidIndex(self.look_up, sorted(Counter(to_micros(e.ingested_at) for e in self.events).items()))

    def look_up(self, wanted: Lookup) -> pa.Table:
        rows = entries(self.events)
        return rows.filter(wanted.mask(rows)).select(list(wanted.columns))

    def expect(self, batch: list[Entry]) -> dict[tuple, tuple]:
        """The duplicates of a batch, with their originals; the other records become events."""
        firsts = {event.event_id: event for event in self.events}
        copies = {}
        for each in sorted(batch, key=lambda each: each.place):
            if each.reason or each.heartbeat_at:
                continue
            first = firsts.setdefault(each.event_id, each)
            if first is each:
                self.events.append(each)
            else:
                copies[each.place] = first.place[1:]
        return copies

    def find(self, uid_index: UidIndex, batch: list[Entry], after: int) -> dict[tuple, tuple]:
        done = START + timedelta(days=after)
        records = entries([each for each in batch if not each.reason and not each.heartbeat_at])
        found = rows_of(find_duplicates(*uid_index.lookup(records, done)), (*PLACE, *FIRST))
        assert len(found) == len({row[:4] for row in found})
        return {row[:4]: row[4:] for row in found}


@pytest.mark.parametrize("seed", range(3))
def test_each_batch_finds_the_duplicates_of_a_plain_loop(seed: int) -> None:
    """UIDs with many hash collisions; each batch is retried, by the same job or a new one."""
    chance = random.Random(seed)
    story, uid_index = Story(), None
    for number in range(5):
        after, stamps = 2 * number, (2 * number + 1, 2 * number + 2)
        batch = [
            entry(str(chance.randrange(10 ** chance.randrange(1, 4))), chance.choice(stamps), offset)
            for offset in chance.sample(range(1000), 40)
        ]
        batch[0] = batch[0]._replace(reason="no_type")
        batch[1] = batch[1]._replace(heartbeat_at=START)
        uid_index = uid_index or story.uid_index()
        before = list(story.events)
        first_time = story.find(uid_index, batch, after)
        assert first_time == story.expect(batch)
        written = story.events
        if chance.random() < 0.5:
            uid_index = story.uid_index()
        assert story.find(uid_index, batch, after) == first_time  # its own events are in the table by now
        story.events = before + chance.sample(written[len(before) :], len(written) - len(before))


def test_duplicates_are_found_at_every_age() -> None:
    story = Story()
    story.events = [entry(f"u{stamp}", stamp, stamp, key=stamp) for stamp in range(200)]
    copies = [entry(f"u{stamp}", 200, 1000 + stamp, key=stamp) for stamp in range(200)]
    fresh = [entry(f"v{stamp}", 200, 2000 + stamp, key=-1 - stamp) for stamp in range(200)]
    found = story.find(story.uid_index(), copies + fresh, after=199)
    assert found == story.expect(copies + fresh)
    assert len(found) == 200


def test_hash_collision_is_not_a_duplicate() -> None:
    story = Story()
    story.events = [entry("a", 1, 1, key=7), entry("b", 2, 2, key=7)]
    batch = [entry("c", 3, 3, key=7), entry("b", 3, 4, key=7), entry("c", 3, 5, key=7)]
    found = story.find(story.uid_index(), batch, after=2)
    assert {place[3]: first[2] for place, first in found.items()} == {4: 2, 5: 3}


def test_events_of_interrupted_batch_are_not_originals() -> None:
    story = Story()
    story.events = [entry("a", 1, 1), entry("b", 2, 2)]  # stamp 2 was written; the ledger says 1
    batch = [entry("b", 2, 2), entry("a", 2, 3)]
    found = story.find(story.uid_index(), batch, after=1)
    assert {place[3]: first[2] for place, first in found.items()} == {3: 1}
    following = [entry("b", 3, 4)]
    assert [first[2] for first in story.find(story.uid_index(), following, after=2).values()] == [2]


def test_duplicates_are_found_when_history_is_read_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("silver.dedup.uid_index._SLICE", 3)
    story = Story()
    story.events = [entry(f"u{n}", n // 2, n, key=n) for n in range(14)]
    batch = [entry(f"u{n}", 20, 100 + n, key=n) for n in range(14)]
    assert story.find(story.uid_index(), batch, after=6) == story.expect(batch)


def test_running_refine_sees_events_rewritten_by_another_writer(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path / "home")
    refine = Refine(
        JobContext("refine", spark.newSession(), settings, once=True), lambda: load_parse_rules(settings.conf)
    )
    bronze = Bronze(spark, settings)
    bronze.commit([record(message("a", "v"))])
    first = bronze.stored[0].ingested_at
    assert refine(Batch(0, EPOCH, first, 1)).output_rows == 1

    lake = Lakehouse(spark.newSession(), settings, "another")
    table = lake.read("silver.events")
    other = table.withColumns({"event_id": F.lit("z"), "event_hash": F.xxhash64(F.lit("z"))})
    lake.merge_changes("silver.events", checkpoint(other.withColumn(DELETED, F.lit(False))), first, Scope())

    bronze.commit([record(message("z", "w")), record(message("a", "w")), record(message("b", "w"))])
    outcome = refine(Batch(1, first, bronze.stored[1].ingested_at, 3))
    assert (outcome.duplicates, outcome.output_rows) == (2, 1)
