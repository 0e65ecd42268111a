"""Whether ingest resumes from its checkpoint, by bronze's log and rows. Needs no Spark."""

import json
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from bronze.checkpoint import Checkpoint
from bronze.kafka import TopicIds
from bronze.topics import topic_watch
from bronze.topics.topic_watch import Held, TopicWatch
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import TOPICS
from lakehouse.run.job import JobContext
from lakehouse.settings import load_settings

INGESTED = {"job": "ingest", "app": "query", "version": 0}
COMPACTED: dict[str, Any] = {}
ROWS = Held({("events", 0): (0, 5)})


class Lake:
    """Tables that have these commits to bronze, and nothing in ops.topics."""

    def __init__(self, *commits: dict[str, Any]) -> None:
        self._commits = list(enumerate(commits, 7))[::-1]

    def commits(self, name: str) -> Any:
        return iter(self._commits)

    def find(self, name: str, select: object) -> pa.Table:
        return arrow_schema(TOPICS).empty_table()


def watch(home: Path, monkeypatch: pytest.MonkeyPatch, lake: Lake, held: Held | None) -> TopicWatch:
    """A watch of a bronze table with these rows, in a home with a checkpoint; None: rows are not queried."""

    class Run:
        settings = load_settings(home=home)

    folder = home / "checkpoints" / "ingest"
    (folder / "offsets").mkdir(parents=True)
    (folder / "metadata").write_text(json.dumps({"id": "query"}))
    (folder / "offsets" / "0").write_text("v1\n")
    run = Run()
    run.lake = lake  # type: ignore[attr-defined]
    answers = [held] if held else []  # a query of bronze takes seconds: one at most
    monkeypatch.setattr(TopicWatch, "held", lambda _: answers.pop())
    return TopicWatch(cast(JobContext, run), cast(TopicIds, None))


@pytest.mark.parametrize(
    ("commits", "held", "is_usable"),
    [
        ((INGESTED, COMPACTED), None, True),
        (({**INGESTED, "app": "another"},), None, False),
        ((COMPACTED,), ROWS, False),  # Delta has removed the entries of ingest's commits
        ((COMPACTED,), Held({}), True),
        ((), Held({}), True),
    ],
)
def test_checkpoint_is_usable_if_log_or_empty_bronze_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    commits: tuple[dict[str, Any], ...],
    held: Held | None,
    is_usable: bool,
) -> None:
    found = watch(tmp_path, monkeypatch, Lake(*commits), held)
    assert [found.is_checkpoint_usable for _ in range(2)] == [is_usable] * 2


@pytest.mark.parametrize(
    ("reached", "is_usable"),
    [
        ({}, True),
        ({"events": {"0": 5}, "exchange_rates": {"0": 1}}, True),
        ({"exchange_rates": {"0": 1}}, False),  # Spark would read events from their beginning again
        ({"events": {"0": 5}, "exchange_rates": {"0": 1}, "old": {"0": 3}}, False),
    ],
)
def test_checkpoint_is_usable_if_it_has_the_known_topics_of_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: dict[str, dict[str, int]], is_usable: bool
) -> None:
    found = watch(tmp_path, monkeypatch, Lake(INGESTED), None)
    monkeypatch.setattr(Checkpoint, "reached", reached)
    known = dict.fromkeys(("events", "exchange_rates", "campaign_costs"))
    monkeypatch.setattr(TopicWatch, "known", known)
    broker = dict.fromkeys(("events", "exchange_rates", "shop_changes"))  # costs were deleted
    monkeypatch.setattr(topic_watch, "broker_topics", lambda _: broker)
    assert found.is_checkpoint_usable is is_usable
