"""A topic whose limit an administrator has set: an event above it does not hold up the others."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from bronze.kafka_auth import PLAINTEXT
from intake.direct_sender import DirectSender
from intake.forwarder import Forwarder
from intake.log.accounts import read_accounts, replay_shed
from intake.log.entries import Write
from intake.log.message_log import MessageLog
from intake.log.place import log_file
from intake.producers import direct_producer, durable_producer, once_producer
from intake.segment_requests import Message, TooLargeError
from kit.home import Home
from kit.polling import eventually
from kit.sending import in_topic
from millrace.clients.topic import ensure_topic

SECONDS = 30.0
SMALL = [Message(b"k", b"%05d" % number * 200) for number in range(500)]
LARGE = Message(b"k", b"large" * 30_000)


def set_limit(home: Home, limit: int) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=home.bootstrap)) as admin:
        configs = {"max.message.bytes": str(limit)}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, home.topic, configs)])


@pytest.fixture
def home(new_home: Callable[..., Home]) -> Home:
    """A home whose topic takes the small events, but not the large one."""
    home = new_home()
    ensure_topic(home.bootstrap, home.topic, PLAINTEXT, {"max.message.bytes": "100000"})
    return home


@pytest.fixture
def log(home: Home) -> Iterator[MessageLog]:
    log = MessageLog(log_file(home.path, "main"))
    yield log
    log.close()


@pytest.mark.parametrize("known_limit", [100_000, 1_000_000])
def test_event_above_the_limit_is_shed_and_sent_once_the_limit_is_raised(
    home: Home, log: MessageLog, known_limit: int
) -> None:
    file = log_file(home.path, "main")
    log.append(Write("r", "shop", [*SMALL[:250], LARGE, *SMALL[250:]])).result()
    forwarder = Forwarder(
        log, home.topic, "main", lambda: durable_producer(home.bootstrap, PLAINTEXT, known_limit)
    )
    forwarder.start()
    eventually(lambda: not log.totals.waiting, SECONDS)
    (account,) = read_accounts(file)
    assert (account.forwarded, account.shed, account.missing) == (500, 1, 0)
    set_limit(home, 1_000_000)
    replay_shed(file)
    eventually(lambda: read_accounts(file)[0].forwarded == 501, SECONDS)
    forwarder.stop(0)
    assert sorted(each.value for each in in_topic(home.settings)) == sorted(
        each.value for each in (*SMALL, LARGE)
    )


def test_direct_request_with_an_event_above_the_limit_is_refused(home: Home, log: MessageLog) -> None:
    sender = DirectSender(
        log,
        home.topic,
        "main",
        lambda: direct_producer(home.bootstrap, PLAINTEXT),
        lambda: once_producer(home.bootstrap, PLAINTEXT),
    )
    with pytest.raises(TooLargeError):
        sender.send_acknowledged("shop", "r1", [LARGE]).result(SECONDS)
    sender.send_acknowledged("shop", "r2", SMALL).result(SECONDS)
    sender.stop(SECONDS)
