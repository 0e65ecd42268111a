"""Audits bronze against manifests, which list the records that clients sent."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw

from bronze.topics.topic_history import Generation, bronze_partition
from lakehouse.settings import Settings
from millrace.audit.finding import Finding
from millrace.clients.checksum import MODULUS, as_hex, value_digest
from millrace.clients.manifest import HEADER
from millrace.tables.table_scan import iterate
from millrace.tables.topic_state import TopicState

Manifest = dict[str, Any]


def read_manifests(settings: Settings) -> list[Manifest]:
    """The manifests of this home's clients. Read before the broker, so that it has all confirmed records."""
    return [json.loads(path.read_text()) for path in sorted((settings.home / "manifests").glob("*.json"))]


def against_manifests(
    manifests: Sequence[Manifest], topics: TopicState, bronze: nw.LazyFrame[Any]
) -> Iterator[Finding]:
    """Compare the records of each manifest in bronze with the records that were sent.

    Args:
        manifests: read before `topics`.
        topics: the broker and bronze.
        bronze: the records.
    """
    if not manifests:
        return
    found, sums, erased = _follow_headers(bronze)
    for manifest in manifests:
        key = manifest["id"]
        waiting = _not_ingested(topics, manifest)
        if waiting:
            yield _unfinished(topics, manifest, found[key], waiting)
        else:
            checksum = None if erased[key] else as_hex(sums[key])
            yield _compare(manifest, found[key], checksum, _accepted_loss(topics, manifest))


def _follow_headers(bronze: nw.LazyFrame[Any]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """By manifest: number of records in bronze, their checksum, and how many are without a value."""
    found: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    erased: Counter[str] = Counter()
    for headers, value in iterate(bronze.select("headers", "value")):
        for header in headers or ():
            if header["key"] == HEADER:
                key = bytes(header["value"] or b"").decode(errors="replace")  # may be another program's
                found[key] += 1
                erased[key] += value is None
                sums[key] = (sums[key] + value_digest(bytes(value or b""))) % MODULUS
    return found, sums, erased


def _generation(topics: TopicState, manifest: Manifest) -> Generation | None:
    """The generation of the topic that it was sent to; None if bronze has not read it yet."""
    known, topic_id = topics.generations.get(manifest["topic"], {}), manifest.get("topic_id")
    if not topic_id:  # an old client, or a broker without topic ids
        return known.get(0)
    same = [each for each in known.values() if each.topic_id in (topic_id, "")]
    return same[-1] if same else None


def _not_ingested(topics: TopicState, manifest: Manifest) -> set[str]:
    """The partitions, as `topic/partition`, with records of the manifest that bronze has not reached."""
    topic, generation = manifest["topic"], _generation(topics, manifest)
    waiting = set()
    for partition, span in manifest["offsets"].items():
        done = 0
        if generation is not None:
            stored = bronze_partition(generation.number, int(partition))
            _, done, _ = topics.held.get((topic, stored), (0, 0, 0))
            done = max([done, *(end or 0 for _, end in generation.lost.get(int(partition), ()))])
        if span["last"] >= done:
            waiting.add(f"{topic}/{partition}")
    return waiting


def _unfinished(topics: TopicState, manifest: Manifest, rows: int, waiting: set[str]) -> Finding:
    topic, generation = manifest["topic"], _generation(topics, manifest)
    known, name = topics.known.get(topic), f"manifest {manifest['id']}"
    detail = f"{rows:,} of {manifest['records']:,} records ingested"
    if generation and known and generation.number < known.number:
        return Finding(name, f"{detail}; the rest was lost with the topic, which is accepted", True)
    detail += " so far"
    spans = topics.broker[topic].spans if topic in topics.broker else {}
    gone = {
        place
        for place in waiting
        if topic in topics.topics and _last(manifest, place) >= spans.get(_number(place), (0, 0))[1]
    }
    if gone:
        detail += f"; Kafka does not have the rest, in {', '.join(sorted(gone))}: another topic?"
    return Finding(name, detail, not gone)


def _number(place: str) -> int:
    return int(place.rpartition("/")[2])


def _last(manifest: Manifest, place: str) -> int:
    return int(manifest["offsets"][str(_number(place))]["last"])


def _accepted_loss(topics: TopicState, manifest: Manifest) -> int:
    """Number of the manifest's offsets whose loss was accepted."""
    generation = _generation(topics, manifest)
    return sum(
        max(min(span["last"] + 1, end or 0) - max(span["first"], begin), 0)
        for partition, span in manifest["offsets"].items()
        for begin, end in (generation.lost.get(int(partition), ()) if generation else ())
    )


def _compare(manifest: Manifest, rows: int, checksum: str | None, accepted: int) -> Finding:
    """Compare a manifest's records; their checksum is None once some are erased."""
    name, sent, unconfirmed = f"manifest {manifest['id']}", manifest["records"], manifest["unconfirmed"]
    if accepted:
        detail = (
            f"{rows:,} of {sent:,} records in bronze, up to {accepted:,} lost in Kafka, which is accepted"
        )
        return Finding(name, detail, sent - accepted <= rows <= sent + unconfirmed)
    if unconfirmed or manifest["ended_at"] is None:  # unconfirmed records may be in the topic
        right = sent <= rows and (manifest["ended_at"] is None or rows <= sent + unconfirmed)
        detail = f"{rows:,} records in bronze, {sent:,} confirmed, {unconfirmed:,} uncertain"
        return Finding(name, detail, right)
    if checksum is None:
        detail = f"{rows:,} of {sent:,} records in bronze; some are erased, so there is no checksum"
        return Finding(name, detail, rows == sent)
    right = rows == sent and checksum == manifest["checksum"]
    detail = f"{rows:,} of {sent:,} records in bronze, checksum {checksum}"
    if checksum != manifest["checksum"]:
        detail += f", the client's is {manifest['checksum']}"
    return Finding(name, detail, right)
