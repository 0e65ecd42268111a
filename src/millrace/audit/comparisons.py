"""The audit: manifests, broker, bronze, ledger, silver and gold, compared with each other.

All counts come from the tables and from Kafka; the ledger's counts are compared with them.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import starmap
from typing import Any

import narwhals as nw

from lakehouse.settings import Settings
from millrace.audit.broker import against_broker
from millrace.audit.bronze_offsets import ledger_sums
from millrace.audit.collectors import against_collectors, read_collectors
from millrace.audit.erased import ErasedRecords
from millrace.audit.finding import Finding
from millrace.audit.gold import audit_gold
from millrace.audit.manifests import against_manifests, read_manifests
from millrace.audit.one_position import versions_at_one_position
from millrace.tables.pins import pinned
from millrace.tables.table_scan import rows_of, scan, value_of
from millrace.tables.topic_state import read_reached, read_topics

BRONZE, EVENTS = "bronze.kafka_records", "silver.events"
REJECTED, DUPLICATES = "silver.rejected_events", "silver.duplicate_events"
SHOP_CHANGES, REJECTED_CHANGES = "silver.shop_changes", "silver.rejected_changes"
ERASED = "ops.erased_records"
_CLASSES = {EVENTS: "event", REJECTED: "rejected", DUPLICATES: "duplicate"}
RATES, COSTS = "silver.exchange_rates", "silver.cost_records"
_PLACE = ("topic", "partition", "offset")
Frame = nw.LazyFrame[Any]


def run_audit(settings: Settings) -> Iterator[Finding]:
    """Compare counts and keys of each layer with the layer before, as of one position.

    Tables are read at the versions of `versions_at_one_position`. What clients, collectors and ingest's
    checkpoint say is read before these, and the broker after them: nothing on its way seems to be lost.

    Yields:
        A finding for each comparison, right or not.

    Raises:
        MillraceError: if no broker answers.
    """
    collectors, manifests = read_collectors(settings), read_manifests(settings)
    reached = read_reached(settings)
    versions = versions_at_one_position(settings)
    with pinned(versions):
        bronze = scan(settings, BRONZE)
        if bronze is None:
            yield _no_bronze(settings)
            return
        yield _unique(BRONZE, bronze)
        topics = read_topics(settings, reached)
        yield from against_broker(settings, topics)
        yield from against_manifests(manifests, topics, bronze)
        yield from against_collectors(settings, collectors, topics)
        yield from audit_tables(settings, bronze)
    yield Finding("as of", ", ".join(starmap(_version, versions.items())), True)


def audit_tables(settings: Settings, bronze: Frame) -> Iterator[Finding]:
    """Compare bronze, the ledger, silver and gold."""
    yield from _against_ledger(settings, bronze)
    yield from _against_silver(settings, bronze)
    yield from audit_gold(settings)


def _version(name: str, version: int | None) -> str:
    return f"no {name}" if version is None else f"{name} version {version}"


def _no_bronze(settings: Settings) -> Finding:
    totals = ledger_sums(settings).get("ingest")
    if totals is None:
        return Finding("bronze", "nothing has been ingested yet", True)
    return Finding(BRONZE, f"is not there; by the ledger it has {totals['output_rows']:,} records", False)


def _unique(name: str, records: Frame) -> Finding:
    rows = _count(records)
    doubled = rows - _count(records.select(*_PLACE).unique())
    return Finding(name, f"{rows:,} records, {doubled:,} of them twice", doubled == 0)


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
    erased = ErasedRecords(settings, refine["position"])
    for name, column in ((EVENTS, "output_rows"), (REJECTED, "rejected"), (DUPLICATES, "duplicates")):
        rows = _rows_upto(settings, name, refine["position"])
        gone = erased.beyond(name, record_class=_CLASSES[name])
        detail = f"{refine[column]:,} rows, table {rows:,}" + f" and {gone:,} erased" * bool(gone)
        yield Finding(f"ledger of refine: {name}", detail, refine[column] == rows + gone)
    arrived = erased.beyond(record_class="arrived")
    if arrived or refine["erased"]:
        detail = f"{refine['erased']:,} arrived after their erasure, table {arrived:,}"
        yield Finding(f"ledger of refine: {ERASED}", detail, refine["erased"] == arrived)


def _against_silver(settings: Settings, bronze: Frame) -> Iterator[Finding]:
    refine = ledger_sums(settings).get("refine")
    if refine is None:
        yield Finding("silver", "nothing has been refined yet", True)
        return
    position = refine["position"]
    refined = bronze.filter(nw.col("ingested_at") <= position)
    rates, costs = (refined.filter(nw.col("topic") == topic) for topic in settings.side_topics)
    yield from _against_rates(settings, rates, position)
    yield from _against_costs(settings, costs, position)
    yield from _against_shop(settings, bronze)
    refined = refined.filter(~nw.col("topic").is_in((*settings.side_topics, settings.shop_changes_topic)))
    records = _count(refined)
    parts = {name: _rows_upto(settings, name, position) for name in (EVENTS, DUPLICATES, REJECTED)}
    erased = ErasedRecords(settings, position).beyond(*parts)
    rest = records - sum(parts.values()) - refine["heartbeats"] - erased
    detail = (
        f"{records:,} bronze records = {parts[EVENTS]:,} events + {parts[DUPLICATES]:,} duplicates + "
        f"{parts[REJECTED]:,} rejected + {refine['heartbeats']:,} heartbeats" + f" + {erased:,} erased"
    )
    yield Finding("bronze = silver", detail if not rest else f"{detail}, off by {rest:,}", rest == 0)
    missing = _unaccounted(settings, refined, (EVENTS, REJECTED, DUPLICATES))
    lost = max(missing - refine["heartbeats"] - erased, 0)
    yield Finding("every record by its place", f"{lost:,} bronze records are in no silver table", lost == 0)
    events = scan(settings, EVENTS)
    if events is not None:
        doubled = _count(events) - _count(events.select("event_id").unique())
        yield Finding("one event a UID", f"{doubled:,} UIDs twice in {EVENTS}", doubled == 0)


def _against_rates(settings: Settings, records: Frame, position: datetime) -> Iterator[Finding]:
    """Each record of an exchange rate is in the table, replaced by a later record, or rejected."""
    count = _count(records)
    rates = scan(settings, RATES)
    if not count and rates is None:
        return
    refused = _rows_upto(settings, REJECTED, position, settings.exchange_rates_topic)
    rows, totals = 0, 0
    if rates is not None:
        rows, totals = rows_of(rates.select(nw.len(), nw.col("records").sum()))[0].values()
    rest = count - totals - refused
    detail = f"{count:,} bronze records = {rows:,} rates + {totals - rows:,} replaced + {refused:,} rejected"
    yield Finding("bronze = exchange rates", f"{detail}, off by {rest:,}" if rest else detail, rest == 0)
    missing = _unaccounted(settings, records, (RATES, REJECTED))
    lost = abs(missing - (totals - rows))
    yield Finding("every rate by its place", f"{lost:,} bronze records are in no silver table", lost == 0)


def _against_costs(settings: Settings, records: Frame, position: datetime) -> Iterator[Finding]:
    """Each record of a cost is in silver.cost_records or rejected."""
    count = _count(records)
    if not count and scan(settings, COSTS) is None:
        return
    topic = settings.campaign_costs_topic
    rows, refused = (_rows_upto(settings, name, position, topic) for name in (COSTS, REJECTED))
    rest = count - rows - refused
    detail = f"{count:,} bronze records = {rows:,} costs + {refused:,} rejected"
    yield Finding("bronze = costs", f"{detail}, off by {rest:,}" if rest else detail, rest == 0)
    lost = _unaccounted(settings, records, (COSTS, REJECTED))
    yield Finding("every cost by its place", f"{lost:,} bronze records are in no silver table", lost == 0)


def _against_shop(settings: Settings, bronze: Frame) -> Iterator[Finding]:
    """Each record of the shop's database is in silver.shop_changes, rejected, a tombstone, or erased."""
    dimensions = ledger_sums(settings).get("dimensions")
    if dimensions is None:
        return
    records = bronze.filter(
        (nw.col("topic") == settings.shop_changes_topic) & (nw.col("ingested_at") <= dimensions["position"])
    )
    names = (SHOP_CHANGES, REJECTED_CHANGES)
    rows, refused = (_count_through(settings, name, dimensions["position"]) for name in names)
    count = _count(records)
    gone = ErasedRecords(settings, dimensions["position"], of_shop=True)
    erased = gone.beyond(*names)
    tombstones = _count(gone.left_of(records).filter(nw.col("value").is_null() & ~nw.col("key").is_null()))
    rest = count - rows - refused - tombstones - erased
    detail = f"{count:,} bronze records = {rows:,} changes + {tombstones:,} tombstones + {refused:,} rejected"
    detail += f" + {erased:,} erased" * bool(erased)
    yield Finding("bronze = shop changes", f"{detail}, off by {rest:,}" if rest else detail, rest == 0)
    lost = _unaccounted(settings, records, names) - tombstones - erased
    yield Finding("every change by its place", f"{lost:,} bronze records are in no silver table", lost == 0)


def _count_through(settings: Settings, name: str, position: datetime) -> int:
    rows = scan(settings, name)
    return 0 if rows is None else _count(rows.filter(nw.col("ingested_at") <= position))


def _rows_upto(settings: Settings, name: str, position: datetime, topic: str | None = None) -> int:
    """Number of a silver table's rows from the topic of events, or from a topic of other records."""
    rows = scan(settings, name)
    if rows is None:
        return 0
    column = nw.col("topic")
    of_topic = column == topic if topic else ~column.is_in(settings.side_topics)
    return _count(rows.filter((nw.col("ingested_at") <= position) & of_topic))


def _unaccounted(settings: Settings, bronze: Frame, tables: tuple[str, ...]) -> int:
    """Number of bronze records whose topic, partition and offset are in none of these tables."""
    missing = bronze.select(*_PLACE)
    for name in tables:
        known = scan(settings, name)
        if known is not None:
            missing = missing.join(known.select(*_PLACE), on=list(_PLACE), how="anti")
    return _count(missing)


def _count(rows: Frame) -> int:
    return int(value_of(rows.select(nw.len())))
