"""Deliveries of webhooks by real servers to real receivers that fail, hang and die."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from kit.api_process import ApiProcess, api_process
from kit.delivered import Behaviour, Delivered, delivered
from kit.http_json import json_lines, request
from kit.polling import eventually
from kit.warehouse_builder import append_rows, replace_rows

TABLE = "gold.funnel"


def row(day: int, step: str = "visit", visitors: int = 1) -> dict[str, Any]:
    return {"day": date(2026, 1, 1) + timedelta(day), "step": step, "visitors": visitors}


@pytest.fixture(scope="module")
def module_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    home = tmp_path_factory.mktemp("home")
    append_rows(home, TABLE, [row(0)])
    with api_process(home) as server:
        yield server


@pytest.fixture
def home(module_server: ApiProcess) -> Path:
    """A home whose table has rows of three days."""
    replace_rows(module_server.home, TABLE, [row(day) for day in range(3)])
    return module_server.home


@pytest.fixture
def server(module_server: ApiProcess) -> Iterator[ApiProcess]:
    """A server without webhooks of other tests."""
    yield module_server
    url = f"{module_server.url}/v1/webhooks"
    for shown in request(url)[1]["webhooks"]:
        assert request(f"{url}/{shown['id']}", "DELETE")[0] == 204


@pytest.fixture
def own_home(tmp_path: Path) -> Path:
    append_rows(tmp_path, TABLE, [row(day) for day in range(3)])
    return tmp_path


@pytest.fixture
def own_server(own_home: Path) -> Iterator[ApiProcess]:
    """A server to be killed."""
    with api_process(own_home) as server:
        yield server


def register(server: ApiProcess, receiver: Delivered, **terms: Any) -> dict[str, Any]:
    status, made = request(
        f"{server.url}/v1/webhooks", "POST", {"url": receiver.url, "table": TABLE, **terms}
    )
    assert status == 201, made
    receiver.secret = made["secret"]
    return made


def owner_of_lease(home: Path) -> str:
    """The node that delivers."""
    with closing(sqlite3.connect(home / "serve" / "webhooks.db")) as connection:
        ((owner,),) = connection.execute("SELECT owner FROM lease")
    return str(owner)


def assert_has_all_rows(receiver: Delivered, server: ApiProcess, seconds: float = 30) -> None:
    """The receiver has all rows of the table, from deliveries in order and without gaps."""
    rows = json_lines(f"{server.url}/v1/rows?table={TABLE}")
    expected = sorted(rows, key=json.dumps)
    eventually(lambda: receiver.table() == expected, seconds, "the receiver has all rows")
    assert receiver.numbers == list(range(1, len(receiver.numbers) + 1))
    assert receiver.faults == []


def test_deliveries_are_signed_and_fold_to_the_table(server: ApiProcess, home: Path) -> None:
    with delivered() as receiver:
        made = register(server, receiver)
        assert_has_all_rows(receiver, server)
        for day in range(3, 8):
            append_rows(home, TABLE, [row(day)])
            replace_rows(home, TABLE, [row(each, visitors=day) for each in range(day + 1)])
        assert_has_all_rows(receiver, server)
        assert len(receiver.order) > 1
        assert receiver.order[0].startswith(made["id"])

        def listed() -> Any:
            (shown,) = request(f"{server.url}/v1/webhooks")[1]["webhooks"]
            return shown

        eventually(lambda: listed()["sent"] == len(receiver.order), what="the last one is noted")
        assert "secret" not in listed()
        assert listed()["state"] == "active"


def test_failed_delivery_is_retried_unchanged(server: ApiProcess, home: Path) -> None:
    with delivered() as receiver:
        receiver.script = [Behaviour.REFUSE, Behaviour.LOSE]
        register(server, receiver)
        assert_has_all_rows(receiver, server)
        eventually(lambda: len(receiver.attempts) >= 3, 20, "it was repeated")
        assert len(set(receiver.attempts[:3])) == 1


@pytest.mark.long
def test_killed_receiver_and_server_lose_and_duplicate_nothing(
    own_server: ApiProcess, own_home: Path
) -> None:
    server, home = own_server, own_home
    with delivered() as receiver:
        register(server, receiver)
        assert_has_all_rows(receiver, server)
    append_rows(home, TABLE, [row(3)])
    url = f"{server.url}/v1/webhooks"
    eventually(lambda: request(url)[1]["webhooks"][0]["state"] == "failing", 20, "it failed")
    append_rows(home, TABLE, [row(4)])
    server.kill()
    append_rows(home, TABLE, [row(5)])
    server.start()
    append_rows(home, TABLE, [row(6)])
    with delivered(receiver):
        assert_has_all_rows(receiver, server)


@pytest.mark.long
def test_delivery_is_repeated_when_server_dies_before_the_response(
    own_server: ApiProcess, own_home: Path
) -> None:
    server, home = own_server, own_home
    with delivered(hang_seconds=5) as receiver:
        register(server, receiver)
        assert_has_all_rows(receiver, server)
        receiver.script = [Behaviour.HANG]
        append_rows(home, TABLE, [row(3)])
        eventually(lambda: len(receiver.attempts) == 2, 20, "it is under way")
        server.kill()
        append_rows(home, TABLE, [row(4)])
        server.start()
        assert_has_all_rows(receiver, server)
        assert receiver.attempts[2] == receiver.attempts[1]


@pytest.mark.long
def test_second_node_takes_over_deliveries_when_first_is_killed(
    own_server: ApiProcess, own_home: Path
) -> None:
    server, home = own_server, own_home
    with delivered() as receiver:
        register(server, receiver)
        assert_has_all_rows(receiver, server)
        first = owner_of_lease(home)
        with api_process(home) as other:
            append_rows(home, TABLE, [row(3)])
            assert_has_all_rows(receiver, other)
            assert len(receiver.attempts) == len(set(receiver.attempts)), "each was sent once"
            assert owner_of_lease(home) == first
            server.kill()
            append_rows(home, TABLE, [row(4)])
            assert_has_all_rows(receiver, other, 40)
            assert owner_of_lease(home) != first


def test_deleted_webhook_gets_no_further_deliveries(server: ApiProcess, home: Path) -> None:
    with delivered() as receiver, delivered() as other:
        made = register(server, receiver)
        register(server, other)
        assert_has_all_rows(receiver, server)
        assert request(f"{server.url}/v1/webhooks/{made['id']}", "DELETE")[0] == 204
        assert request(f"{server.url}/v1/webhooks/{made['id']}", "DELETE")[0] == 404
        before = len(receiver.attempts)
        for day in range(3, 7):
            append_rows(home, TABLE, [row(day)])
            assert_has_all_rows(other, server)
        assert len(receiver.attempts) <= before + 1  # one may have been in flight


def test_webhook_delivers_only_matching_rows_and_selected_columns(server: ApiProcess, home: Path) -> None:
    with delivered() as receiver:
        register(server, receiver, where={"step": ["click"]}, select=["visitors"])
        append_rows(home, TABLE, [row(3), row(3, "click", 7)])
        expected = [{"day": "2026-01-04", "step": "click", "visitors": 7}]
        eventually(lambda: receiver.table() == expected, 20)


def test_query_results_are_delivered(server: ApiProcess, home: Path) -> None:
    with delivered() as receiver:
        sql = f"SELECT step, sum(visitors) AS visitors FROM {TABLE} GROUP BY step"
        asked = {"url": receiver.url, "sql": sql}
        assert request(f"{server.url}/v1/webhooks", "POST", asked)[0] == 201
        eventually(lambda: receiver.table() == [{"step": "visit", "visitors": 3}], 20)
        append_rows(home, TABLE, [row(3)])
        eventually(lambda: receiver.table() == [{"step": "visit", "visitors": 4}], 20)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"table": TABLE}, "url is missing"),
        ({"url": "http://127.0.0.1:1/", "table": "gold.nothing"}, "not a table"),
        ({"url": "http://127.0.0.1:1/"}, "either a table or a query"),
        ({"url": "http://127.0.0.1:1/", "sql": "SELECT now()"}, "clock"),
        ({"url": "http://hooks.example.com/", "table": TABLE}, "not https"),
        ({"url": "https://hooks.example.com/", "table": TABLE}, "webhook_hosts"),
        ({"url": "http://127.0.0.1:1/", "table": TABLE, "after": "?"}, "position"),
    ],
)
def test_invalid_webhook_registration_is_rejected(
    asked: dict[str, Any], reason: str, module_server: ApiProcess
) -> None:
    status, answer = request(f"{module_server.url}/v1/webhooks", "POST", asked)
    assert status == 400
    assert reason in answer["error"]
