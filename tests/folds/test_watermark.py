"""The watermark of producers: any batches against a record-by-record oracle, and single cases."""

import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folds.watermark import Producers, PromiseRecord, RecordKey, fold_promises, producer_of
from kit.oracle_watermark import Step, watermark_after

DELAY = 5
SOURCES = ("shop@1", "shop@2", "app", "a@b@c")


class LogRecord(NamedTuple):
    """A generated record; `after` is the Kafka time since the previous record."""

    after: int
    partition: int
    time: int | None
    promise: tuple[str, int | None] | None


PROMISES = st.tuples(st.sampled_from(SOURCES), st.one_of(st.integers(0, 60), st.none()))
RECORDS = st.one_of(
    st.builds(LogRecord, st.integers(0, 3), st.integers(0, 2), st.integers(0, 80), st.none()),
    st.builds(LogRecord, st.integers(0, 3), st.integers(0, 2), st.none(), PROMISES),
)
LOGS = st.lists(RECORDS, max_size=30)
CUTS = st.sets(st.integers(1, 29))


class State:
    """The watermark and the producers, carried from batch to batch as in the ledger."""

    def __init__(self) -> None:
        self.watermark: int | None = None
        self.producers: str | None = None

    def apply(self, batch: Sequence[Step]) -> None:
        promises = [PromiseRecord(RecordKey(*each.key), *each.promise) for each in batch if each.promise]
        fold = fold_promises(Producers.from_json(self.producers), promises)
        times = [
            each.time - DELAY
            for each in batch
            if each.time is not None and not fold.liveness.is_live_at(each.key)
        ]
        reached = [time for time in (self.watermark, fold.watermark, *times) if time is not None]
        self.watermark, self.producers = max(reached, default=None), fold.producers.to_json()


def split_at(steps: Sequence[Step], cuts: set[int]) -> list[Sequence[Step]]:
    ends = [*sorted(cut for cut in cuts if cut < len(steps)), len(steps)]
    return [steps[low:high] for low, high in zip([0, *ends], ends, strict=False)]


def log_of(records: Sequence[LogRecord], partitions: int) -> list[Step]:
    """The records in the order of Kafka's timestamps, all in one commit of bronze."""
    stamp, steps = 0, []
    for offset, each in enumerate(records):
        stamp += each.after
        steps.append(Step((0, stamp, "events", each.partition % partitions, offset), each.time, each.promise))
    return sorted(steps, key=lambda step: step.key)


def in_several_commits(steps: Sequence[Step], cuts: set[int]) -> list[Step]:
    """The same records in several commits of bronze."""
    parts = enumerate(split_at(steps, cuts))
    return [each._replace(key=(number, *each.key[1:])) for number, part in parts for each in part]


@settings(max_examples=400)
@given(LOGS, CUTS, st.sampled_from([1, 3]))
def test_watermark_of_ordered_batches_matches_record_by_record_oracle(
    records: list[LogRecord], cuts: set[int], partitions: int
) -> None:
    whole = log_of(records, partitions)
    state, read = State(), 0
    for batch in split_at(in_several_commits(whole, cuts), cuts):
        state.apply(batch)
        read += len(batch)
        assert state.watermark == watermark_after(whole[:read], DELAY)


@settings(max_examples=400)
@given(LOGS, CUTS, CUTS, st.randoms(use_true_random=False))
def test_watermark_of_shuffled_batches_matches_record_by_record_oracle(
    records: list[LogRecord], commits: set[int], batches: set[int], chance: random.Random
) -> None:
    mixed = log_of(records, 3)
    chance.shuffle(mixed)
    stored = in_several_commits(mixed, commits)
    state, read = State(), []
    for batch in split_at(stored, commits & batches):
        state.apply(batch)
        read += batch
        assert state.watermark == watermark_after(read, DELAY)


def step(stamp: int, time: int | None = None, source: str = "", promised: int | None = None) -> Step:
    """An event, or a promise of a source; a promise without a time is `end`."""
    return Step((0, stamp, "events", 0, stamp), time, (source, promised) if source else None)


def watermarks(*steps: Step) -> list[int | None]:
    """The watermark after each record, each of them a batch."""
    state, found = State(), []
    for each in steps:
        state.apply([each])
        found.append(state.watermark)
    whole = State()
    whole.apply(steps)
    assert whole.watermark == found[-1]
    return found


def test_silent_producer_holds_back_watermark_until_it_leaves() -> None:
    assert watermarks(
        step(100, source="silent", promised=10),
        step(101, source="leaves", promised=20),
        step(102, source="fast", promised=3700),
        step(103, source="leaves", promised=90),
        step(104, source="leaves"),
        step(105, source="fast", promised=3800),
        step(106, source="silent"),
    ) == [9, 9, 9, 9, 9, 9, 104]  # a promise an hour ahead is capped at its record's time


def test_fast_producer_clock_does_not_advance_watermark_past_kafka_time() -> None:
    slow = [step(100, source="slow", promised=50), step(102, source="slow", promised=60)]
    assert watermarks(slow[0], step(101, source="fast", promised=3700), slow[1]) == [49, 49, 59]
    assert watermarks(step(101, source="fast", promised=3700)) == [100]


def test_watermark_stays_just_below_promised_time() -> None:
    assert watermarks(step(100, source="app", promised=50)) == [49]  # so an event at 50 is not late


def test_events_do_not_advance_watermark_while_a_producer_is_live() -> None:
    assert watermarks(
        step(1, time=30),
        step(2, source="app", promised=0),
        step(3, time=90),
        step(4, source="app"),
        step(5, time=40),
    ) == [25, 25, 25, 25, 35]


def test_watermark_never_moves_backwards() -> None:
    assert watermarks(
        step(60, source="app", promised=50),
        step(61, source="app", promised=40),  # lower than before, so ignored
        step(62, source="shop", promised=20),
        step(63, source="shop"),
        step(64, source="app", promised=55),
    ) == [49, 49, 49, 49, 54]


def test_rejoining_producer_starts_from_its_new_promise() -> None:
    again = [step(60, source="app", promised=50), step(61, source="app"), step(62, source="app", promised=10)]
    assert watermarks(*again, step(63, source="shop", promised=63)) == [49, 49, 49, 49]
    state = State()
    state.apply(again)
    assert state.producers == '{"app": 10}'


def test_producer_promise_is_maximum_of_its_live_nodes() -> None:
    assert watermarks(
        step(50, source="shop@1", promised=20),
        step(51, source="shop@2", promised=30),
        step(52, source="app", promised=52),
        step(53, source="shop@2"),
        step(54, source="shop@1", promised=25),
        step(55, source="shop@1", promised=40),
    ) == [19, 29, 29, 29, 29, 39]


def test_end_of_unknown_producer_is_ignored() -> None:
    assert watermarks(step(1, source="app"), step(2, time=30), step(3, source="app")) == [None, 25, 25]


@pytest.mark.parametrize(
    ("source", "name"), [("app", "app"), ("app@1", "app"), ("a@b@c", "a@b"), ("@1", ""), ("app@", "app")]
)
def test_producer_name_is_source_without_node(source: str, name: str) -> None:
    assert producer_of(source) == name


def test_producer_state_round_trips_through_sorted_json() -> None:
    state = Producers({"shop@2": 5, "caf\u00e9": 7, "app": 6})
    assert state.to_json() == '{"app": 6, "caf\u00e9": 7, "shop@2": 5}'
    assert Producers.from_json(state.to_json()) == state
    assert Producers().to_json() is None
    assert Producers.from_json(None) == Producers()
