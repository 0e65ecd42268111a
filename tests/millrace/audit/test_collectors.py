"""The audit of collectors: their logs against themselves and against bronze."""

from datetime import datetime, timezone
from pathlib import Path

from bronze.topics.topic_history import STARTED, BrokerTopic, TopicChange
from intake.log.accounts import Account
from kit.warehouse_builder import append_rows
from lakehouse.settings import Settings, load_settings
from millrace.audit.collectors import against_collectors
from millrace.tables.topic_state import TopicState

NOW = datetime(2026, 11, 2, tzinfo=timezone.utc)


def settings_with_bronze(home: Path, records: int) -> Settings:
    """Settings of a home whose bronze has records of source `shop` by node `main`."""
    headers = [{"key": "source", "value": b"shop"}, {"key": "node", "value": b"main"}]
    rows = [
        {
            "topic": "events",
            "partition": 0,
            "offset": each,
            "value": b"{}",
            "timestamp": NOW,
            "headers": headers,
        }
        for each in range(records)
    ]
    append_rows(home, "bronze.kafka_records", rows)
    return load_settings(home=home)


def audit_results(home: Path, account: Account, records: int) -> list[tuple[str, bool]]:
    settings = settings_with_bronze(home, records)
    history = [TopicChange("events", "id", 0, 0, STARTED, 0)]
    broker = {"events": BrokerTopic("id", {0: (0, records)})}
    topics = TopicState(("events",), history, {("events", 0): (0, records, records)}, {}, broker)
    return [
        (finding.detail, finding.is_right)
        for finding in against_collectors(settings, {"main": [account]}, topics)
    ]


def account(**numbers: int) -> Account:
    zero = dict.fromkeys(("received", "forwarded", "waiting", "shed", "lost", "refused", "replayed"), 0)
    return Account("shop", **{**zero, **numbers})


def test_balanced_collector_account_passes_audit(tmp_path: Path) -> None:
    found = audit_results(tmp_path, account(received=5, forwarded=3, waiting=1, shed=1, refused=9), 4)
    assert [is_right for _, is_right in found] == [True, True]
    assert "5 received = 3 forwarded + 1 waiting + 1 shed" in found[0][0]
    assert "4 records in bronze, 3 forwarded, 1 copies" in found[1][0]


def test_audit_finds_lost_acknowledged_event(tmp_path: Path) -> None:
    (balance, is_right), _ = audit_results(tmp_path, account(received=5, forwarded=3, waiting=1), 3)
    assert (is_right, "1 lost" in balance) == (False, True)


def test_audit_finds_forwarded_event_missing_in_bronze(tmp_path: Path) -> None:
    _, (in_bronze, is_right) = audit_results(tmp_path, account(received=5, forwarded=5), 4)
    assert (is_right, "4 records in bronze, 5 forwarded" in in_bronze) == (False, True)
