"""All records of a topic are read for a search, those of aborted transactions too, and then it ends."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kafka import KafkaProducer

from bronze.kafka import stored_records
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.clients.topic import ensure_topic


def test_stored_records_include_aborted_ones(broker: Any, tmp_path: Path) -> None:
    topic = f"events-{uuid4().hex}"
    settings = load_settings(home=tmp_path, kafka_bootstrap=broker.bootstrap, events_topic=topic)
    ensure_topic(broker.bootstrap, topic)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic)
    producer.init_transactions()
    for value, ends in ((b"kept", producer.commit_transaction), (b"aborted", producer.abort_transaction)):
        producer.begin_transaction()
        producer.send(topic, value, key=b"ann", headers=[("who", b"ann")])
        producer.flush()
        ends()
    producer.close()
    found = [(record.key, record.value, list(record.headers)) for record in stored_records(settings, topic)]
    assert sorted(found) == [(b"ann", b"aborted", [("who", b"ann")]), (b"ann", b"kept", [("who", b"ann")])]
    with pytest.raises(MillraceError, match="there is no topic missing"):
        list(stored_records(settings, "missing"))
