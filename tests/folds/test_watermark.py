"""The watermark of producers: by batches the same as record by record, and case by case."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folds.watermark import Producers, PromiseRecord, RecordKey, fold_promises, producer_of
from kit.oracle_watermark import Step, watermark_after

DELAY = 5
SOURCES = ("shop@1", "shop@2", "app", "a@b@c")


class Made(NamedTuple):
    """A record of a made-up log. `after` is what passed in Kafka's time since the record before it."""

    after: int
    partition: int
    time: int | None
    promise: tuple[str, int | None] | None


PROMISES = st.tuples(st.sampled_from(SOURCES), st.one_of(st.integers(0, 60), st.none()))
MADE = st.one_of(
    st.builds(Made, st.integers(0, 3), st.integers(0, 2), st.integers(0, 80), st.none()),
    st.builds(Made, st.integers(0, 3), st.integers(0, 2), st.none(), PROMISES),
)
LOGS = st.lists(MADE, max_size=30)
CUTS = st.sets(st.integers(1, 29))


class State:
    """The watermark and the producers, kept over batches as the ledger keeps them."""

    def __init__(self) -> None:
        self.watermark: int | None = None
        self.producers: str | None = None

    def take(self, batch: Sequence[Step]) -> None:
        promises = [PromiseRecord(RecordKey(*each.key), *each.promise) for each in batch if each.promise]
        fold = fold_promises(Producers.from_json(self.producers), promises)
        times = [
            each.time - DELAY
            for each in batch
            if each.time is not None and not fold.liveness.is_live_at(each.key)
        ]
        reached = [time for time in (self.watermark, fold.watermark, *times) if time is not None]
        self.watermark, self.producers = max(reached, default=None), fold.producers.to_json()


def pieces(steps: Sequence[Step], cuts: set[int]) -> list[Sequence[Step]]:
    ends = [*sorted(cut for cut in cuts if cut < len(steps)), len(steps)]
    return [steps[low:high] for low, high in zip([0, *ends], ends, strict=False)]


def log_of(made: Sequence[Made], partitions: int) -> list[Step]:
    """The records in the order of Kafka's timestamps, all in one commit of bronze."""
    stamp, steps = 0, []
    for offset, each in enumerate(made):
        stamp += each.after
        steps.append(Step((0, stamp, "events", each.partition % partitions, offset), each.time, each.promise))
    return sorted(steps, key=lambda step: step.key)


def committed(steps: Sequence[Step], cuts: set[int]) -> list[Step]:
    """The same records in several commits of bronze."""
    parts = enumerate(pieces(steps, cuts))
    return [each._replace(key=(number, *each.key[1:])) for number, part in parts for each in part]


@settings(max_examples=400)
@given(LOGS, CUTS, st.sampled_from([1, 3]))
def test_batches_in_the_order_of_kafka_give_what_one_record_after_the_other_gives(
    made: list[Made], cuts: set[int], partitions: int
) -> None:
    whole = log_of(made, partitions)
    state, read = State(), 0
    for batch in pieces(committed(whole, cuts), cuts):
        state.take(batch)
        read += len(batch)
        assert state.watermark == watermark_after(whole[:read], DELAY)


@settings(max_examples=400)
@given(LOGS, CUTS, CUTS, st.randoms(use_true_random=False))
def test_batches_of_the_same_commits_give_the_same_whatever_the_order_in_kafka(
    made: list[Made], commits: set[int], batches: set[int], chance: object
) -> None:
    mixed = log_of(made, 3)
    chance.shuffle(mixed)
    stored = committed(mixed, commits)
    state, read = State(), []
    for batch in pieces(stored, commits & batches):
        state.take(batch)
        read += batch
        assert state.watermark == watermark_after(read, DELAY)


def at(stamp: int, time: int | None = None, source: str = "", promised: int | None = None) -> Step:
    """An event, or a promise of a source: `end` if it has no time."""
    return Step((0, stamp, "events", 0, stamp), time, (source, promised) if source else None)


def watermarks(*steps: Step) -> list[int | None]:
    """The watermark after each record, each of them a batch."""
    state, found = State(), []
    for each in steps:
        state.take([each])
        found.append(state.watermark)
    whole = State()
    whole.take(steps)
    assert whole.watermark == found[-1]
    return found


def test_the_silent_one_of_three_holds_the_watermark_until_it_has_left() -> None:
    assert watermarks(
        at(100, source="silent", promised=10),
        at(101, source="leaves", promised=20),
        at(102, source="fast", promised=3700),
        at(103, source="leaves", promised=90),
        at(104, source="leaves"),
        at(105, source="fast", promised=3800),
        at(106, source="silent"),
    ) == [9, 9, 9, 9, 9, 9, 104]  # of a promise an hour ahead counts the time of its record


def test_a_fast_clock_moves_the_watermark_of_nobody() -> None:
    slow = [at(100, source="slow", promised=50), at(102, source="slow", promised=60)]
    assert watermarks(slow[0], at(101, source="fast", promised=3700), slow[1]) == [49, 49, 59]
    assert watermarks(at(101, source="fast", promised=3700)) == [100]


def test_an_event_at_the_promised_time_is_not_late() -> None:
    assert watermarks(at(100, source="app", promised=50)) == [49]  # late is at or before the watermark


def test_while_a_producer_is_live_events_and_heartbeats_move_nothing_then_or_later() -> None:
    assert watermarks(
        at(1, time=30),
        at(2, source="app", promised=0),
        at(3, time=90),
        at(4, source="app"),
        at(5, time=40),
    ) == [25, 25, 25, 25, 35]


def test_the_watermark_never_goes_back() -> None:
    assert watermarks(
        at(60, source="app", promised=50),
        at(61, source="app", promised=40),  # the greater one stays
        at(62, source="shop", promised=20),
        at(63, source="shop"),
        at(64, source="app", promised=55),
    ) == [49, 49, 49, 49, 54]


def test_who_joins_again_starts_with_its_new_promise() -> None:
    again = [at(60, source="app", promised=50), at(61, source="app"), at(62, source="app", promised=10)]
    assert watermarks(*again, at(63, source="shop", promised=63)) == [49, 49, 49, 49]
    state = State()
    state.take(again)
    assert state.producers == '{"app": 10}'


def test_a_producer_has_promised_what_the_latest_of_its_live_nodes_has() -> None:
    assert watermarks(
        at(50, source="shop@1", promised=20),
        at(51, source="shop@2", promised=30),
        at(52, source="app", promised=52),
        at(53, source="shop@2"),
        at(54, source="shop@1", promised=25),
        at(55, source="shop@1", promised=40),
    ) == [19, 29, 29, 29, 29, 39]


def test_to_leave_without_having_been_live_changes_nothing() -> None:
    assert watermarks(at(1, source="app"), at(2, time=30), at(3, source="app")) == [None, 25, 25]


@pytest.mark.parametrize(
    ("source", "name"), [("app", "app"), ("app@1", "app"), ("a@b@c", "a@b"), ("@1", ""), ("app@", "app")]
)
def test_the_name_of_a_producer(source: str, name: str) -> None:
    assert producer_of(source) == name


def test_the_state_as_json_is_stable() -> None:
    state = Producers({"shop@2": 5, "caf\u00e9": 7, "app": 6})
    assert state.to_json() == '{"app": 6, "caf\u00e9": 7, "shop@2": 5}'
    assert Producers.from_json(state.to_json()) == state
    assert Producers().to_json() is None
    assert Producers.from_json(None) == Producers()
