"""Audits collectors: whether each acknowledged event is in Kafka, in the log or shed, and in bronze."""

from collections.abc import Iterator

from intake.log.accounts import Account, read_accounts
from intake.log.place import log_files
from intake.sources import Semantics, Source, load_sources
from lakehouse.settings import Settings
from millrace.audit.finding import Finding
from millrace.tables.topic_state import TopicState

Accounts = dict[str, list[Account]]
"""The accounts of the sources, by node."""
Arrived = dict[tuple[str, str], int]
"""Number of bronze records by node and source."""


def read_collectors(settings: Settings) -> Accounts:
    """The accounts of this home's collectors. Read before the broker, so that it has all forwarded events."""
    return {node: read_accounts(file) for node, file in log_files(settings.home).items()}


def against_collectors(settings: Settings, accounts: Accounts, topics: TopicState) -> Iterator[Finding]:
    """Compare the numbers of acknowledged events with Kafka, the log and bronze.

    Each acknowledged event counts as received, and is in Kafka, in the log, or shed. Events of a source with
    at-most-once delivery may be lost; the finding reports how many.

    Args:
        settings: the settings in force.
        accounts: read before `topics`.
        topics: the broker and bronze.
    """
    if not accounts:
        return
    arrived = {} if settings.catalog else _arrived(settings)
    is_ingested = _is_ingested(topics, settings.events_topic)
    sources = load_sources(settings.conf)
    for node, of_node in accounts.items():
        for account in of_node:
            source = sources.named(account.source)
            yield _balance(node, account, source)
            if not settings.catalog:
                yield _in_bronze(node, account, source, arrived, is_ingested)


def _balance(node: str, account: Account, source: Source | None) -> Finding:
    may_lose = source is not None and source.delivery is Semantics.AT_MOST_ONCE
    detail = (
        f"{account.received:,} received = {account.forwarded:,} forwarded + {account.waiting:,} waiting"
        f" + {account.shed:,} shed"
    )
    lost = account.lost + account.missing if may_lose else account.missing
    if may_lose or lost:
        detail += f" + {lost:,} lost"
    if account.refused:
        detail += f"; {account.refused:,} refused, which the client has"
    return Finding(_name(node, account), detail, lost == 0 or (may_lose and lost > 0))


def _in_bronze(
    node: str, account: Account, source: Source | None, arrived: Arrived, is_ingested: bool
) -> Finding:
    rows = arrived.get((node, account.source), 0)
    copies = max(rows - account.forwarded, 0)
    promise = source.delivery.value.replace("_", " ") if source else "a source that is no longer declared"
    detail = f"{promise}: {rows:,} records in bronze, {account.forwarded:,} forwarded, {copies:,} copies"
    waits = not is_ingested and rows < account.forwarded
    if waits:
        detail += "; not all of Kafka is ingested yet"
    return Finding(f"{_name(node, account)} in bronze", detail, waits or rows >= account.forwarded)


def _name(node: str, account: Account) -> str:
    return f"collector {node}, source {account.source}"


def _arrived(settings: Settings) -> Arrived:
    """Numbers of bronze records by node and source, from the headers that collectors add."""
    from millrace.tables.duckdb_views import run_query

    rows = run_query(
        settings,
        """
        SELECT decode(headers[2].value) AS node, decode(headers[1].value) AS source, count(*) AS records
        FROM bronze.kafka_records
        WHERE len(headers) = 2 AND headers[1].key = 'source' AND headers[2].key = 'node'
        GROUP BY ALL
        """,
    )
    return {(node, source): records for node, source, records in rows.iter_rows()}


def _is_ingested(topics: TopicState, topic: str) -> bool:
    """Whether bronze has all records of a topic that was never recreated and has no losses."""
    broker = topics.broker.get(topic)
    known = topics.known.get(topic)
    if broker is None or known is None or known.number or any(known.lost.values()):
        return False
    upcoming = topics.upcoming.get(topic, {})
    return all(end <= upcoming.get(partition, 0) for partition, (_, end) in broker.spans.items())
