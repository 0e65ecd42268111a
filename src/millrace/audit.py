"""The audit: manifests, broker, bronze, ledger, silver and gold, compared with each other.

Everything is counted from the tables and from Kafka; what the ledger says is compared like the rest.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import narwhals as nw

from lakehouse.settings import Settings
from millrace.audit_finding import Finding
from millrace.audit_tables import absent_offsets, held_offsets, ledger_sums
from millrace.clients.checksum import MODULUS, as_hex, value_digest
from millrace.clients.manifest import HEADER
from millrace.gold_audit import audit_gold
from millrace.table_scan import iterate, rows_of, scan, value_of

BRONZE, EVENTS = "bronze.kafka_records", "silver.events"
REJECTED, DUPLICATES = "silver.rejected_events", "silver.duplicate_events"
RATES = "silver.exchange_rates"
_PLACE = ("topic", "partition", "offset")
Frame = nw.LazyFrame[Any]


def run_audit(settings: Settings) -> Iterator[Finding]:
    """Compare what must agree, as far as each job has come.

    Yields:
        A finding for each comparison, right or not.

    Raises:
        MillraceError: if no broker answers.
    """
    bronze = scan(settings, BRONZE)
    if bronze is None:
        yield _no_bronze(settings)
        return
    yield _unique("bronze.kafka_records", bronze)
    yield from _against_broker(settings)
    yield from _against_manifests(settings, bronze)
    yield from _against_ledger(settings, bronze)
    yield from _against_silver(settings, bronze)
    yield from audit_gold(settings)


def _no_bronze(settings: Settings) -> Finding:
    told = ledger_sums(settings).get("ingest")
    if told is None:
        return Finding("bronze", "nothing has been ingested yet", True)
    return Finding(BRONZE, f"is not there; by the ledger it has {told['output_rows']:,} records", False)


def _unique(name: str, records: Frame) -> Finding:
    rows = _count(records)
    doubled = rows - _count(records.select(*_PLACE).unique())
    return Finding(name, f"{rows:,} records, {doubled:,} of them twice", doubled == 0)


def _against_broker(settings: Settings) -> Iterator[Finding]:
    """Offsets alone don't tell: transactions leave gaps. So what bronze lacks is sought in Kafka."""
    from bronze.kafka import count_records, offset_spans

    held = held_offsets(settings)
    for place, (first, end) in sorted(offset_spans(settings).items()):
        low, after, rows = held.get((place.topic, place.partition), (first, first, 0))
        absent = absent_offsets(settings, place.topic, place.partition)
        lacking = [(max(begin, first), stop) for begin, stop in [(first, low), *absent] if stop > first]
        lost = sum(count_records(settings, place, *span) for span in lacking if span[0] < span[1])
        detail = f"{rows:,} in bronze, {max(end - after, 0):,} not ingested yet, {lost:,} lost"
        if after > end:
            detail += f"; bronze goes to offset {after:,}, the broker only to {end:,}: another topic?"
        yield Finding(f"{place.topic}/{place.partition}", detail, not lost and after <= end)


def _against_manifests(settings: Settings, bronze: Frame) -> Iterator[Finding]:
    from bronze.kafka import offset_spans

    manifests = _manifests(settings)
    if not manifests:
        return
    sent = {(place.topic, place.partition): end for place, (_, end) in offset_spans(settings).items()}
    ends = {place: after for place, (_, after, _) in held_offsets(settings).items()}
    found, sums = _follow_headers(bronze)
    for manifest in manifests:
        key = manifest["id"]
        name = f"manifest {key}"
        if waiting := _beyond(ends, manifest):
            detail = f"{found[key]:,} of {manifest['records']:,} records ingested so far"
            gone = waiting & _beyond(sent, manifest) if manifest["topic"] in settings.topics else set()
            if gone:
                detail += f"; Kafka does not have the rest, in {', '.join(sorted(gone))}: another topic?"
            yield Finding(name, detail, not gone)
            continue
        yield _compare_manifest(name, manifest, found[key], as_hex(sums[key]))


def _compare_manifest(name: str, manifest: dict[str, Any], rows: int, checksum: str) -> Finding:
    sent, unconfirmed = manifest["records"], manifest["unconfirmed"]
    if unconfirmed or manifest["ended_at"] is None:  # an interrupted client can't vouch for the rest
        right = sent <= rows and (manifest["ended_at"] is None or rows <= sent + unconfirmed)
        return Finding(
            name, f"{rows:,} records in bronze, {sent:,} confirmed, {unconfirmed:,} uncertain", right
        )
    right = rows == sent and checksum == manifest["checksum"]
    detail = f"{rows:,} of {sent:,} records in bronze, checksum {checksum}"
    if checksum != manifest["checksum"]:
        detail += f", the client's is {manifest['checksum']}"
    return Finding(name, detail, right)


def _manifests(settings: Settings) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((settings.home / "manifests").glob("*.json"))]


def _beyond(ends: dict[tuple[str, int], int], manifest: dict[str, Any]) -> set[str]:
    """The partitions, as `topic/partition`, where the manifest's records go on after such an end."""
    topic = manifest["topic"]
    return {
        f"{topic}/{partition}"
        for partition, span in manifest["offsets"].items()
        if span["last"] >= ends.get((topic, int(partition)), 0)
    }


def _follow_headers(bronze: Frame) -> tuple[Counter[str], Counter[str]]:
    """By manifest: how many records bronze holds, and their checksum."""
    found: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for headers, value in iterate(bronze.select("headers", "value")):
        for header in headers or ():
            if header["key"] == HEADER:
                key = bytes(header["value"] or b"").decode(errors="replace")  # anybody's, perhaps
                found[key] += 1
                sums[key] = (sums[key] + value_digest(bytes(value or b""))) % MODULUS
    return found, sums


def _against_ledger(settings: Settings, bronze: Frame) -> Iterator[Finding]:
    sums = ledger_sums(settings)
    ingest = sums.get("ingest")
    if ingest is None:
        yield Finding("ledger", "bronze has records, and the ledger no row of ingest", False)
        return
    upto = _count(bronze.filter(nw.col("ingested_at") <= ingest["position"]))
    yield Finding(
        "ledger of ingest", f"{ingest['output_rows']:,} rows, bronze {upto:,}", ingest["output_rows"] == upto
    )
    refine = sums.get("refine")
    if refine is None:
        return
    for name, column in ((EVENTS, "output_rows"), (REJECTED, "rejected"), (DUPLICATES, "duplicates")):
        rows = _rows_upto(settings, name, refine["position"])
        yield Finding(
            f"ledger of refine: {name}", f"{refine[column]:,} rows, table {rows:,}", refine[column] == rows
        )


def _against_silver(settings: Settings, bronze: Frame) -> Iterator[Finding]:
    refine = ledger_sums(settings).get("refine")
    if refine is None:
        yield Finding("silver", "nothing has been refined yet", True)
        return
    position, topic = refine["position"], settings.exchange_rates_topic
    refined = bronze.filter(nw.col("ingested_at") <= position)
    yield from _against_rates(settings, refined.filter(nw.col("topic") == topic), position)
    refined = refined.filter(nw.col("topic") != topic)
    records = _count(refined)
    parts = {name: _rows_upto(settings, name, position) for name in (EVENTS, DUPLICATES, REJECTED)}
    rest = records - sum(parts.values()) - refine["heartbeats"] - refine["erased"]
    detail = (
        f"{records:,} bronze records = {parts[EVENTS]:,} events + {parts[DUPLICATES]:,} duplicates + "
        f"{parts[REJECTED]:,} rejected + {refine['heartbeats']:,} heartbeats"
    )
    yield Finding("bronze = silver", detail if not rest else f"{detail}, off by {rest:,}", rest == 0)
    missing = _unaccounted(settings, refined, (EVENTS, REJECTED, DUPLICATES))
    lost = max(missing - refine["heartbeats"] - refine["erased"], 0)
    yield Finding("every record by its place", f"{lost:,} bronze records are in no silver table", lost == 0)
    events = scan(settings, EVENTS)
    if events is not None:
        doubled = _count(events) - _count(events.select("event_id").unique())
        yield Finding("one event a UID", f"{doubled:,} UIDs twice in {EVENTS}", doubled == 0)


def _against_rates(settings: Settings, records: Frame, position: datetime) -> Iterator[Finding]:
    """Exchange rates: a record is the row's that it made, or was replaced by a later one, or refused."""
    count = _count(records)
    rates = scan(settings, RATES)
    if not count and rates is None:
        return
    refused = _rows_upto(settings, REJECTED, position, of_rates=True)
    rows, told = 0, 0
    if rates is not None:
        sums = rates.select(nw.len(), nw.col("records").sum(), nw.col("ingested_at").max())
        rows, told, latest = rows_of(sums)[0].values()
        if latest is not None and latest > position:
            yield Finding("bronze = exchange rates", "a micro-batch is under way", True)
            return
    rest = count - told - refused
    detail = f"{count:,} bronze records = {rows:,} rates + {told - rows:,} replaced + {refused:,} rejected"
    yield Finding("bronze = exchange rates", f"{detail}, off by {rest:,}" if rest else detail, rest == 0)
    missing = _unaccounted(settings, records, (RATES, REJECTED))
    lost = abs(missing - (told - rows))
    yield Finding("every rate by its place", f"{lost:,} bronze records are in no silver table", lost == 0)


def _rows_upto(settings: Settings, name: str, position: datetime, of_rates: bool = False) -> int:
    """Rows of a silver table that came of the topic of events, or of that of exchange rates."""
    rows = scan(settings, name)
    if rows is None:
        return 0
    of_topic = (nw.col("topic") == settings.exchange_rates_topic) == of_rates
    return _count(rows.filter((nw.col("ingested_at") <= position) & of_topic))


def _unaccounted(settings: Settings, bronze: Frame, tables: tuple[str, ...]) -> int:
    """Bronze records that none of these tables has by topic, partition and offset."""
    missing = bronze.select(*_PLACE)
    for name in tables:
        known = scan(settings, name)
        if known is not None:
            missing = missing.join(known.select(*_PLACE), on=list(_PLACE), how="anti")
    return _count(missing)


def _count(rows: Frame) -> int:
    return int(value_of(rows.select(nw.len())))
