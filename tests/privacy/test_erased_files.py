"""Persons are erased from collectors' logs, pending deliveries, logs, rejected lines and reports."""

import gzip
import json
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from intake.log.accounts import read_accounts
from intake.log.entries import Write
from intake.log.message_log import MessageLog
from intake.segment_requests import Message
from kit.erased_worlds import files_with
from lakehouse.settings import Settings, load_settings
from millrace.operations.erase_files import erase_files
from privacy.search.home_search import search_home
from serving.stream.wanted import Wanted
from serving.webhooks.store import WebhookStore
from serving.webhooks.webhook import Webhook

PERSON, OTHER = "anna-4711", "ben-4712"
COLLECTED = range(200)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(home=tmp_path)


def erase(settings: Settings) -> list[str]:
    return list(erase_files(settings, [PERSON]))


def write(file: Path, content: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def message(number: int) -> Message:
    whose = PERSON if number % 4 == 0 else OTHER
    return Message(whose.encode(), json.dumps({"userId": whose, "n": number}).encode())


@contextmanager
def collector(home: Path) -> Iterator[MessageLog]:
    """A collector with waiting messages, shed ones, and some that Kafka has."""
    log = MessageLog(home / "collect" / "messages.db")
    wait([log.append(Write("r", "site", [message(number)])) for number in COLLECTED])
    wait([log.append(Write("r", "site", [message(number)], is_shed=True)) for number in COLLECTED[:40]])
    log.forget(50)
    wait([log.append(Write("r", "site", [message(1)]))])
    try:
        yield log
    finally:
        log.close()


def test_collector_log_is_erased_while_it_runs(settings: Settings) -> None:
    file = settings.home / "collect" / "messages.db"
    with collector(settings.home) as log:
        [before] = read_accounts(file)
        assert (before.waiting, before.shed, before.missing) == (151, 40, 0)
        assert erase(settings) == ["47 messages of the collector main erased"]
        assert files_with(settings.home, [PERSON]) == {}
        [left] = read_accounts(file)
        assert (left.waiting, left.shed, left.missing) == (114, 30, 0)
        assert left.received == before.received - 47
        wait([log.append(Write("r", "site", [message(2)]))])
        wait([log.append(Write("r", "site", [message(3)]))])  # after the totals were counted again
        assert (log.totals.waiting, log.totals.shed) == (116, 30)
        kept = [json.loads(each.value or b"")["userId"] for each in log.pending(0, 1000)]
        assert kept == [OTHER] * 116
        assert erase(settings) == []
    assert files_with(settings.home, [PERSON]) == {}
    assert OTHER in repr(files_with(settings.home, [OTHER]).values())


def kept_of(home: Path, messages: Sequence[tuple[Any, ...]]) -> list[str]:
    """The UIDs of waiting messages that stay when user 42 is erased; the same as those of shed ones."""
    file = home / "collect" / "messages.db"
    log = MessageLog(file)
    try:
        for is_shed in (False, True):
            write = Write("r", "site", [Message(*each) for each in messages], is_shed=is_shed)
            wait([log.append(write)])
        list(erase_files(load_settings(home=home), ["42", "v-42"]))
        [left] = read_accounts(file)
        kept = [(each.value or b"").decode() for each in log.pending(0, 1000)]
        assert (left.received, left.waiting, left.shed) == (2 * len(kept), len(kept), len(kept))
    finally:
        log.close()
    return [text.partition('"messageId": "')[2].partition('"')[0] for text in kept]


def track(uid: str, **fields: Any) -> bytes:
    return json.dumps({"messageId": uid, "type": "track", **fields}).encode()


def test_messages_of_others_that_mention_the_person_stay(tmp_path: Path) -> None:
    others = [
        (b"ben", track("number", userId="ben", properties={"quantity": 42})),
        (b"eve", track("price", userId="eve", properties={"total": "42.00", "seller": "42"})),
        (b"joe", track("time", anonymousId="joe", timestamp="2026-11-02T10:42:07Z")),
        (b"key-42", track("key", userId="joe-42")),
        (None, track("placeholder", userId="null", anonymousId="sue", properties={"user": "42"})),
    ]
    assert kept_of(tmp_path, others) == ["number", "price", "time", "key", "placeholder"]


def test_messages_with_an_identity_of_the_person_are_erased(tmp_path: Path) -> None:
    own = [
        (b"42", track("text", userId="42")),
        (b"42", track("number", userId=42)),
        (b"42", track("float", userId=42.0)),
        (b"v-1", track("blanks", anonymousId="v-1", userId=" 42 ")),
        (b"v-42", b'{"messageId": "escaped", "anonymousId": "v\\u002d42"}'),
        (b"42", track("key", anonymousId="v-1")),
        (b"v-1", track("both", anonymousId="v-42", userId="eve")),
    ]
    assert kept_of(tmp_path, own) == []


def test_messages_without_identity_are_erased_by_their_bytes(tmp_path: Path) -> None:
    messages = [
        (None, track("other name", user_id="42")),
        (None, b'{"messageId": "cut off", "userId": "42"'),
        (b"42", b"no JSON"),
        (None, track("empty", userId="", anonymousId="null", properties={"user": "42"})),
        (None, track("nobody", user_id="43")),
    ]
    assert kept_of(tmp_path, messages) == ["nobody"]


def test_pending_deliveries_of_webhooks_that_name_the_person_are_dropped(settings: Settings) -> None:
    file = settings.home / "serve" / "webhooks.db"
    store, bodies = WebhookStore(file), {"whk_1": PERSON, "whk_2": OTHER, "whk_3": PERSON}
    assert store.take_lease("a", 100, 10)
    for name, whose in bodies.items():
        webhook = Webhook(name, "crm", "https://crm.example/", Wanted("silver.events"), 0.0, "", "p1")
        assert store.add(webhook, 3)
        assert store.set_pending("a", webhook, f'{{"after":{{"user_id":"{whose}"}}}}'.encode(), "p2")
    with closing(sqlite3.connect(file)) as connection:  # as an earlier release has left it
        connection.execute("UPDATE webhooks SET disabled_at = 9 WHERE id = 'whk_3'")
        connection.commit()
    assert erase(settings) == ["2 pending deliveries of webhooks dropped"]
    assert [(each.position, each.sent) for each in store.all()] == [(None, 1), ("p1", 0), (None, 1)]
    assert [(found := store.get(name)) and found.pending is not None for name in bodies] == [
        False,
        True,
        False,
    ]
    assert search_home(settings.home, [PERSON]).places == []
    assert erase(settings) == []


def test_delivered_rows_are_not_left_in_the_file_of_webhooks(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def connect_plain(*arguments: Any, **options: Any) -> sqlite3.Connection:
        """As SQLite is built elsewhere: some distributions have it overwrite what is deleted."""
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr("serving.webhooks.store.sqlite3.connect", connect_plain)
    store = WebhookStore(settings.home / "serve" / "webhooks.db")
    webhook = Webhook("whk_1", "crm", "https://crm.example/", Wanted("silver.events"), 0.0, "")
    assert store.add(webhook, 1)
    assert store.take_lease("a", 100, 10)
    for end in (store.set_delivered, store.drop_pending):
        assert store.set_pending("a", webhook, f'{{"user_id":"{PERSON}"}}'.encode() * 1000, "p1")
        assert end("a", webhook)
        assert search_home(settings.home, [PERSON]).places == []


def test_lines_are_blanked_while_a_process_appends(settings: Settings) -> None:
    lines = [f"12:00 user {name} failed\n".encode() for name in (OTHER, PERSON, "anna-47110", PERSON)]
    log = write(settings.home / "logs" / "engine.log", b"".join(lines))
    with log.open("ab") as appending:
        assert erase(settings) == ["1 files of logs and reports erased or removed"]
        appending.write(lines[0])
    blank = b" " * (len(lines[1]) - 1) + b"\n"
    assert log.read_bytes() == b"".join([lines[0], blank, lines[2], blank, lines[0]])
    assert erase(settings) == []


def test_rejected_lines_in_any_encoding_are_blanked(settings: Settings) -> None:
    kept = [{"line": 1, "content": f'{{"userId": "{OTHER}"'}]
    named = [
        {"line": 2, "content": f'{{"userId": "{PERSON}"'},
        {"line": 3, "content": '{"userId": "anna\\u002d4711"'},
        {"line": 4, "content": "id=anna%2D4711&x"},
    ]
    content = "".join(json.dumps(each) + "\n" for each in (*named, *kept)).encode()
    file = write(settings.home / "rejected" / "m.jsonl", content)
    erase(settings)
    assert [json.loads(line) for line in file.read_text().splitlines() if line.strip()] == kept


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("quality/gx/uncommitted/validations/run.json", f'{{"value": "{PERSON}"}}'.encode()),
        ("quality/report/index.html", f"<td>{PERSON}</td>".encode()),
        ("mlflow/artifacts/1/paths.csv", f"path,person\nads,{PERSON}\n".encode()),
        ("logs/old.log.gz", gzip.compress(PERSON.encode(), mtime=0)),
        ("runs/publish/20261128T120000.json", f'{{"error": "{PERSON}"}}'.encode()),
    ],
)
def test_reports_that_name_a_person_are_removed(settings: Settings, name: str, content: bytes) -> None:
    file = write(settings.home / name, content)
    other = write(file.with_name(f"other-{file.name}"), b"<td>nobody</td>")
    erase(settings)
    assert not file.exists()
    assert other.exists()
