"""The audit of a manifest when its topic lost records, or was made again."""

import json
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
import pytest

from bronze.topics.topic_history import LOST, STARTED, BrokerTopic, TopicChange
from lakehouse.settings import load_settings
from millrace.audit.finding import Finding
from millrace.audit.manifests import against_manifests
from millrace.clients.checksum import MODULUS, as_hex, value_digest
from millrace.tables.topic_state import TopicState

FIRST_READ = [TopicChange("events", "A", 0, 0, STARTED, 0)]
GAP = [*FIRST_READ, TopicChange("events", "A", 0, 0, LOST, 4, 6, "Ada")]
AGAIN = [
    *FIRST_READ,
    TopicChange("events", "A", 0, 0, LOST, 4, None, "Ada"),
    TopicChange("events", "B", 1, 0, STARTED, 0),
]
SENT = b"abcdefgh"


def audited(
    home: Path,
    changes: list[TopicChange],
    held: dict[int, int],
    values: bytes,
    end: int = 8,
    **manifest: Any,
) -> Finding:
    """What the audit finds of eight records, of which bronze holds some."""
    checksum = as_hex(sum(value_digest(bytes([value])) for value in SENT) % MODULUS)
    written = {
        "id": "M",
        "topic": "events",
        "topic_id": "A",
        "records": 8,
        "unconfirmed": 0,
        "ended_at": "now",
    }
    written |= {"checksum": checksum, "offsets": {"0": {"first": 0, "last": 7}}, **manifest}
    (home / "manifests").mkdir()
    (home / "manifests" / "M.json").write_text(json.dumps(written))
    headers = [{"key": "manifest", "value": b"M"}]
    schema = {"headers": pl.List(pl.Struct({"key": pl.String, "value": pl.Binary})), "value": pl.Binary}
    rows = [{"headers": headers, "value": bytes([value])} for value in values]
    bronze = nw.from_native(pl.LazyFrame(rows, schema=schema))
    broker = {"events": BrokerTopic(changes[-1].topic_id, {0: (0, end)})}
    spans = {("events", place): (0, after, after) for place, after in held.items()}
    (finding,) = against_manifests(
        load_settings(home=home), TopicState(("events",), changes, spans, {}, broker), bronze
    )
    return finding


def test_whole_manifest_is_right(tmp_path: Path) -> None:
    finding = audited(tmp_path, FIRST_READ, {0: 8}, SENT)
    assert finding.is_right
    assert finding.detail.startswith("8 of 8 records in bronze, checksum ")


def test_manifest_that_is_read_in_part_is_right_while_kafka_has_the_rest(tmp_path: Path) -> None:
    finding = audited(tmp_path, FIRST_READ, {0: 4}, SENT[:4])
    assert (finding.is_right, finding.detail) == (True, "4 of 8 records ingested so far")


def test_manifest_whose_rest_is_nowhere_is_wrong(tmp_path: Path) -> None:
    finding = audited(tmp_path, FIRST_READ, {0: 4}, SENT[:4], end=4)
    assert not finding.is_right
    assert "Kafka does not have the rest, in events/0" in finding.detail


@pytest.mark.parametrize(
    ("values", "is_right"), [(b"abcdgh", True), (b"abcdg", False), (b"abcdghxyz", False)]
)
def test_accepted_gap_excuses_as_many_records_as_it_has_offsets(
    tmp_path: Path, values: bytes, is_right: bool
) -> None:
    finding = audited(tmp_path, GAP, {0: 8}, values)
    assert finding.is_right is is_right
    assert finding.detail.endswith("up to 2 lost in Kafka, which is accepted")


def test_gap_that_nobody_accepted_excuses_nothing(tmp_path: Path) -> None:
    assert not audited(tmp_path, FIRST_READ, {0: 8}, b"abcdgh").is_right


def test_gap_in_another_manifest_excuses_nothing(tmp_path: Path) -> None:
    after = {"offsets": {"0": {"first": 6, "last": 13}}}
    assert not audited(tmp_path, GAP, {0: 14}, b"abcdgh", **after).is_right


def test_manifest_of_the_topic_before_has_lost_its_rest_with_it(tmp_path: Path) -> None:
    finding = audited(tmp_path, AGAIN, {0: 4, 100_000: 20}, SENT[:4])
    assert finding.is_right
    assert finding.detail == "4 of 8 records ingested; the rest was lost with the topic, which is accepted"


def test_manifest_of_the_new_topic_is_compared_with_what_bronze_has_of_that(tmp_path: Path) -> None:
    finding = audited(tmp_path, AGAIN, {0: 20, 100_000: 4}, SENT[:4], topic_id="B")
    assert finding.detail == "4 of 8 records ingested so far"


def test_manifest_of_a_topic_that_bronze_has_not_seen_yet_waits(tmp_path: Path) -> None:
    finding = audited(tmp_path, AGAIN, {0: 20, 100_000: 20}, b"", topic_id="C")
    assert (finding.is_right, finding.detail) == (True, "0 of 8 records ingested so far")


def test_manifest_without_a_topic_id_is_of_the_first_topic(tmp_path: Path) -> None:
    finding = audited(tmp_path, AGAIN, {0: 8, 100_000: 2}, SENT, topic_id=None)
    assert finding.detail.startswith("8 of 8 records in bronze")
