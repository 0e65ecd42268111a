"""The audit of a manifest when its topic lost records, or was recreated."""

import json
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
import pytest

from bronze.topics.topic_history import LOST, STARTED, BrokerTopic, TopicChange
from lakehouse.settings import load_settings
from millrace.audit.finding import Finding
from millrace.audit.manifests import against_manifests, read_manifests
from millrace.clients.checksum import MODULUS, as_hex, value_digest
from millrace.tables.topic_state import TopicState

FIRST_READ = [TopicChange("events", "A", 0, 0, STARTED, 0)]
GAP = [*FIRST_READ, TopicChange("events", "A", 0, 0, LOST, 4, 6, "Ada")]
RECREATED = [
    *FIRST_READ,
    TopicChange("events", "A", 0, 0, LOST, 4, None, "Ada"),
    TopicChange("events", "B", 1, 0, STARTED, 0),
]
SENT = b"abcdefgh"


def audit_manifest(
    home: Path,
    changes: list[TopicChange],
    held: dict[int, int],
    values: bytes,
    end: int = 8,
    **manifest: Any,
) -> Finding:
    """Audit a manifest of eight records, of which bronze has the given values."""
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
        read_manifests(load_settings(home=home)), TopicState(("events",), changes, spans, {}, broker), bronze
    )
    return finding


def test_fully_ingested_manifest_passes(tmp_path: Path) -> None:
    finding = audit_manifest(tmp_path, FIRST_READ, {0: 8}, SENT)
    assert finding.is_right
    assert finding.detail.startswith("8 of 8 records in bronze, checksum ")


def test_partly_ingested_manifest_passes_while_kafka_has_the_rest(tmp_path: Path) -> None:
    finding = audit_manifest(tmp_path, FIRST_READ, {0: 4}, SENT[:4])
    assert (finding.is_right, finding.detail) == (True, "4 of 8 records ingested so far")


def test_manifest_fails_if_kafka_lacks_the_rest(tmp_path: Path) -> None:
    finding = audit_manifest(tmp_path, FIRST_READ, {0: 4}, SENT[:4], end=4)
    assert not finding.is_right
    assert "Kafka does not have the rest, in events/0" in finding.detail


@pytest.mark.parametrize(
    ("values", "is_right"), [(b"abcdgh", True), (b"abcdg", False), (b"abcdghxyz", False)]
)
def test_accepted_gap_excuses_at_most_its_number_of_offsets(
    tmp_path: Path, values: bytes, is_right: bool
) -> None:
    finding = audit_manifest(tmp_path, GAP, {0: 8}, values)
    assert finding.is_right is is_right
    assert finding.detail.endswith("up to 2 lost in Kafka, which is accepted")


def test_gap_that_is_not_accepted_fails(tmp_path: Path) -> None:
    assert not audit_manifest(tmp_path, FIRST_READ, {0: 8}, b"abcdgh").is_right


def test_gap_outside_offsets_of_manifest_excuses_nothing(tmp_path: Path) -> None:
    after = {"offsets": {"0": {"first": 6, "last": 13}}}
    assert not audit_manifest(tmp_path, GAP, {0: 14}, b"abcdgh", **after).is_right


def test_rest_of_manifest_of_deleted_topic_is_accepted_as_lost(tmp_path: Path) -> None:
    finding = audit_manifest(tmp_path, RECREATED, {0: 4, 100_000: 20}, SENT[:4])
    assert finding.is_right
    assert finding.detail == "4 of 8 records ingested; the rest was lost with the topic, which is accepted"


def test_manifest_of_recreated_topic_is_compared_with_its_offsets_only(tmp_path: Path) -> None:
    finding = audit_manifest(tmp_path, RECREATED, {0: 20, 100_000: 4}, SENT[:4], topic_id="B")
    assert finding.detail == "4 of 8 records ingested so far"


def test_manifest_of_topic_unknown_to_bronze_is_pending(tmp_path: Path) -> None:
    finding = audit_manifest(tmp_path, RECREATED, {0: 20, 100_000: 20}, b"", topic_id="C")
    assert (finding.is_right, finding.detail) == (True, "0 of 8 records ingested so far")


def test_manifest_without_topic_id_belongs_to_first_topic(tmp_path: Path) -> None:
    finding = audit_manifest(tmp_path, RECREATED, {0: 8, 100_000: 2}, SENT, topic_id=None)
    assert finding.detail.startswith("8 of 8 records in bronze")
