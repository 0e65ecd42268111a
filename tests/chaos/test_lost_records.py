"""Deleted records and recreated topics: each command names the `millrace recover` call that is needed."""

from collections.abc import Callable, Iterator

import pytest
from kafka import KafkaAdminClient

from bronze.kafka import offset_spans
from kit.home import Home
from kit.polling import eventually


@pytest.fixture
def home(new_home: Callable[..., Home]) -> Home:
    """A home that has ingested the first 600 of 1,000 events of a topic."""
    home = new_home()
    home.must("produce", "--events", "600", "--seed", "1")
    home.must("run", "ingest", "--once")
    home.must("produce", "--events", "400", "--seed", "2")
    return home


@pytest.fixture
def admin(home: Home) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=home.bootstrap)
    yield client
    client.close()


def rows(home: Home) -> int:
    ((count,),) = home.sql(f"SELECT count(*) FROM bronze.kafka_records WHERE topic = '{home.topic}'")
    return int(count)


def assert_stopped(home: Home, option: str) -> None:
    """Ingest reads nothing; ingest, `status`, `audit` and `recover` name the command that is needed."""
    step = f"`millrace recover {home.topic} {option}`"
    done = home.run("run", "ingest", "--once")
    assert done.returncode == 1
    assert step in done.stderr.splitlines()[-1]
    assert step in " ".join(home.must("status").split())
    audit = home.run("audit")
    assert (audit.returncode, step in " ".join(audit.stdout.split())) == (1, True)
    asked = home.run("recover", home.topic)
    (line,) = asked.stderr.splitlines()
    assert (asked.returncode, step in line) == (1, True)


def test_unread_deleted_records_stop_ingest_until_loss_is_accepted(
    home: Home, admin: KafkaAdminClient
) -> None:
    spans = {place: span for place, span in offset_spans(home.settings).items() if place.topic == home.topic}
    gone = {place: end - 5 for place, (_, end) in spans.items()}
    admin.delete_records(gone)  # all but five of each partition, most of which were never read
    assert_stopped(home, "--accept-loss")
    assert rows(home) == 600
    home.must("recover", home.topic, "--accept-loss", "--by", "Ada")
    assert rows(home) == 600 + 5 * len(spans)
    lost = home.sql(
        "SELECT who, sum(end_offset - first_offset) FROM ops.topics WHERE kind = 'lost' GROUP BY who"
    )
    assert lost == [["Ada", str(400 - 5 * len(spans))]]
    assert "lost in Kafka, which is accepted" in home.must("audit")
    assert "Nothing is to be recovered" in home.must("recover", home.topic, "--accept-loss")


def test_recreated_topic_stops_ingest_until_recovered(home: Home, admin: KafkaAdminClient) -> None:
    admin.delete_topics([home.topic])
    eventually(lambda: home.topic not in admin.list_topics(), 30, "the topic to go")
    gone = home.run("run", "ingest", "--once")
    assert (gone.returncode, "no longer in Kafka" in gone.stderr) == (1, True)
    home.must("produce", "--events", "900", "--seed", "3")
    assert_stopped(home, "--from-beginning")
    assert rows(home) == 600
    home.must("recover", home.topic, "--from-beginning")
    assert rows(home) == 1500
    home.must("run", "refine", "repair", "--once")
    assert "900 of 900 records in bronze" in home.must("audit")
    again = 'SELECT count(*), min("offset") FROM silver.events WHERE partition >= 100000'
    assert int(home.sql(again)[0][0]) > 500
