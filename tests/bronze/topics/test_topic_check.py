"""The cases of topic_life.yml, and generated topic histories in which no record is skipped silently."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bronze.topics.topic_check import (
    ACCEPT_LOSS,
    FROM_BEGINNING,
    Trouble,
    accepted_gaps,
    find_trouble,
    new_partitions,
    next_generation,
    require_readable,
    require_recoverable,
)
from bronze.topics.topic_history import (
    LOST,
    STARTED,
    BrokerTopic,
    TopicChange,
    bronze_partition,
    current_generations,
    next_offsets,
    recoveries,
    to_changes,
)
from lakehouse.errors import MillraceError

TOPIC = "events"
CASES = yaml.safe_load(Path(__file__).with_name("topic_life.yml").read_text())
OTHER, NONE = "other topic", "no topic"


def history(case: dict[str, Any]) -> list[TopicChange]:
    number = case.get("generation", 0)
    older = [TopicChange(TOPIC, "Z", 0, 0, STARTED, 0), TopicChange(TOPIC, "Z", 0, 0, LOST, 10, None, "Ada")]
    started = [TopicChange(TOPIC, "A", number, place, STARTED, at) for place, at in case["began"].items()]
    lost = [
        TopicChange(TOPIC, "A", number, place, LOST, first, end, "Ada")
        for place, (first, end) in case.get("lost", {}).items()
    ]
    return [*(older if number else ()), *started, *lost]


def kafka_of(case: dict[str, Any]) -> dict[str, BrokerTopic]:
    spans = {place: tuple(span) for place, span in case["kafka"].items()}
    return {TOPIC: BrokerTopic(case.get("id", "A"), spans)} if spans else {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_topic_state_stops_ingest_or_gives_next_offsets(case: dict[str, Any]) -> None:
    changes, kafka = history(case), kafka_of(case)
    held = {(TOPIC, place): end for place, end in case.get("held", {}).items()}
    reached = {TOPIC: {str(place): end for place, end in case.get("checkpoint", {}).items()}}

    def upcoming() -> dict[str, dict[int, int]]:
        return next_offsets(current_generations(changes), held, reached)

    troubles = find_trouble(current_generations(changes), kafka, upcoming())
    if "reads_on" in case:
        assert troubles == []
        added = new_partitions(TOPIC, current_generations(changes)[TOPIC], kafka[TOPIC], {})
        assert [change.partition for change in added] == case.get("added", [])
        changes += added
        assert upcoming() == {TOPIC: case["reads_on"]}
        return
    (trouble,) = troubles
    with pytest.raises(MillraceError, match=f"`millrace recover {TOPIC} "):
        require_readable(troubles)
    wanted = ACCEPT_LOSS if "gap" in case else FROM_BEGINNING if OTHER in case else None
    assert case.get(NONE, False) is (wanted is None)
    assert trouble.option == wanted
    assert {gap.partition: [gap.first, gap.end] for gap in trouble.gaps} == case.get("gap", {})


def test_recover_rejects_every_option_but_the_required_one() -> None:
    trouble = Trouble(TOPIC, "gone", ACCEPT_LOSS)
    assert require_recoverable([TOPIC], [trouble], TOPIC, ACCEPT_LOSS) == trouble
    assert require_recoverable([TOPIC], [], TOPIC, FROM_BEGINNING) is None
    for option in ("", FROM_BEGINNING):
        with pytest.raises(MillraceError, match=rf"gone\. `millrace recover {TOPIC} {ACCEPT_LOSS}`"):
            require_recoverable([TOPIC], [trouble], TOPIC, option)
    with pytest.raises(MillraceError, match="ingest reads no topic other"):
        require_recoverable([TOPIC], [trouble], "other", ACCEPT_LOSS)


def test_topic_changes_are_ordered_by_sequence() -> None:
    changes = [TopicChange(TOPIC, "A", 0, place, STARTED, place) for place in range(3)]
    rows = [{"sequence": number, **change._asdict()} for number, change in enumerate(changes)]
    assert to_changes(reversed(rows)) == changes


class World:
    """A topic of two partitions at most, every record ever sent to it, and an ingest that reads it."""

    def __init__(self) -> None:
        self.number = 0
        self.kafka: dict[int, list[int]] = {0: [0, 0]}
        self.sent: set[tuple[int, int, int]] = set()
        self.read: set[tuple[int, int, int]] = set()
        self.changes: list[TopicChange] = []

    @property
    def broker(self) -> dict[str, BrokerTopic]:
        spans = {place: (first, end) for place, (first, end) in self.kafka.items()}
        return {TOPIC: BrokerTopic(f"id {self.number}", spans)}

    def send(self, place: int, count: int) -> None:
        if place in self.kafka:
            end = self.kafka[place][1]
            self.sent |= {(self.number, place, offset) for offset in range(end, end + count)}
            self.kafka[place][1] = end + count

    def retain(self, place: int, count: int) -> None:
        if place in self.kafka:
            first, end = self.kafka[place]
            self.kafka[place][0] = min(first + count, end)

    def recreate(self, *_: int) -> None:
        self.number += 1
        self.kafka = {0: [0, 0]}

    def add_partition(self, *_: int) -> None:
        self.kafka.setdefault(1, [0, 0])

    def ingest(self, *_: int) -> None:
        if not self.changes:
            first = new_partitions(TOPIC, None, self.broker[TOPIC], {})
            self.changes += first  # records deleted before the first ingest are not lost
            self.sent = {
                key for key in self.sent if key[0] == self.number and key[2] >= self.kafka[key[1]][0]
            }
        known = current_generations(self.changes)
        for trouble in find_trouble(known, self.broker, self.upcoming()):
            generation = known[TOPIC]
            if trouble.option == ACCEPT_LOSS:
                accepted = accepted_gaps(trouble, generation, self.broker[TOPIC], "Ada")
            else:
                old = self.upcoming()[TOPIC]
                accepted = next_generation(TOPIC, generation, self.broker[TOPIC], old, "Ada")
            self.changes += accepted
        known = current_generations(self.changes)
        assert find_trouble(known, self.broker, self.upcoming()) == []
        self.changes += new_partitions(TOPIC, known[TOPIC], self.broker[TOPIC], {})
        for place, at in self.upcoming()[TOPIC].items():
            first, end = self.kafka[place]
            assert at >= first
            self.read |= {(bronze_number(self.changes), place, offset) for offset in range(at, end)}

    def upcoming(self) -> dict[str, dict[int, int]]:
        held: dict[tuple[str, int], int] = {}
        for number, place, offset in self.read:
            key = (TOPIC, bronze_partition(number, place))
            held[key] = max(held.get(key, 0), offset + 1)
        return next_offsets(current_generations(self.changes), held, {})


def bronze_number(changes: list[TopicChange]) -> int:
    return max(change.generation for change in changes)


STEPS = st.tuples(
    st.sampled_from(["send", "send", "retain", "recreate", "add_partition", "ingest", "ingest"]),
    st.integers(0, 1),
    st.integers(1, 4),
)


@settings(max_examples=1500, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_every_record_is_read_once_or_recorded_as_lost(steps: list[tuple[str, int, int]]) -> None:
    world = World()
    for name, place, count in steps:
        getattr(world, name)(place, count)
    world.ingest()
    lost = [change for change in world.changes if change.kind == LOST]
    assert recoveries(world.changes) == len(lost)
    keys = {(bronze_partition(number, place), offset) for number, place, offset in world.read}
    assert len(keys) == len(world.read)
    seen = {change.topic_id: change.generation for change in world.changes}
    partitions = {(change.generation, change.partition) for change in world.changes}
    for number, place, offset in sorted(world.sent):
        generation = seen.get(f"id {number}")
        if (generation, place) not in partitions:
            continue  # it existed only between two checks, so it is undetectable
        named = any(
            (change.generation, change.partition) == (generation, place)
            and change.first_offset <= offset < (change.end_offset or offset + 1)
            for change in lost
        )
        assert ((generation, place, offset) in world.read) != named
