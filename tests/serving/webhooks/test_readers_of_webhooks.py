"""A webhook belongs to the token that registered it, has its current role, and is sent to allowed hosts."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kit.access import token_of, with_tokens
from kit.api_client import api_client
from kit.delivered import Behaviour, Delivered, delivered
from kit.polling import eventually
from kit.warehouse_builder import append_rows

TABLE = "gold.funnel"
ALL_ROWS = "roles: {shop: {tables: ['gold.*']}}\n"
CLICK_ROWS = "roles: {shop: {tables: ['gold.*'], rows: {gold.funnel: {step: [click]}}}}\n"


def as_reader(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(name)}"}


def add(home: Path, day: int) -> None:
    append_rows(
        home,
        TABLE,
        [{"day": date(2026, 1, day), "step": step, "visitors": day} for step in ("visit", "click")],
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    add(tmp_path, 1)
    with_tokens(tmp_path, ALL_ROWS, one="shop", other="shop")
    return tmp_path


@pytest.fixture
def client(home: Path) -> Iterator[TestClient]:
    with api_client(home, home / "conf", address="10.0.0.7", heartbeat=0.3) as client:
        yield client


def register(client: TestClient, receiver: Delivered, name: str) -> str:
    made = client.post("/v1/webhooks", json={"url": receiver.url, "table": TABLE}, headers=as_reader(name))
    assert made.status_code == 201, made.text
    receiver.secret = made.json()["secret"]
    return str(made.json()["id"])


def listed(client: TestClient, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/v1/webhooks", headers=as_reader(name)).json()["webhooks"]
    return found


def test_webhook_is_visible_and_deletable_only_by_its_owner(client: TestClient) -> None:
    with delivered() as receiver:
        webhook = register(client, receiver, "one")
        assert [each["id"] for each in listed(client, "one")] == [webhook]
        assert listed(client, "other") == []
        refused = client.delete(f"/v1/webhooks/{webhook}", headers=as_reader("other"))
        nothing = client.delete("/v1/webhooks/whk_0", headers=as_reader("other"))
        assert (
            (refused.status_code, refused.text) == (nothing.status_code, nothing.text) == (404, nothing.text)
        )
        assert [each["id"] for each in listed(client, "one")] == [webhook]
        assert client.delete(f"/v1/webhooks/{webhook}", headers=as_reader("one")).status_code == 204
        assert listed(client, "one") == []


def test_webhook_of_removed_token_pauses_until_token_is_restored(client: TestClient, home: Path) -> None:
    with delivered() as revoked, delivered() as kept:
        register(client, revoked, "one")
        register(client, kept, "other")
        eventually(lambda: len(revoked.table()) == len(kept.table()) == 2)
        with_tokens(home, ALL_ROWS, other="shop")
        eventually(lambda: client.get("/v1/tables", headers=as_reader("one")).status_code == 401)
        before = len(revoked.attempts)
        add(home, 2)
        eventually(lambda: len(kept.table()) == 4)
        add(home, 3)
        eventually(lambda: len(kept.table()) == 6)
        assert len(revoked.attempts) == before
        with_tokens(home, ALL_ROWS, one="shop", other="shop")
        eventually(lambda: len(revoked.table()) == 6, 40)
        assert revoked.faults == []


def test_narrower_role_resets_receiver_to_visible_rows(client: TestClient, home: Path) -> None:
    with delivered() as receiver:
        register(client, receiver, "one")
        eventually(lambda: len(receiver.table()) == 2)
        with_tokens(home, CLICK_ROWS, one="shop")
        add(home, 2)
        eventually(lambda: [row["step"] for row in receiver.table()] == ["click", "click"], 40)
        assert receiver.faults == []


def test_pending_delivery_is_replaced_when_role_is_narrowed(client: TestClient, home: Path) -> None:
    with delivered(Delivered(script=[Behaviour.REFUSE] * 1000)) as receiver:
        register(client, receiver, "one")
        eventually(lambda: receiver.attempts)
        first, body = receiver.attempts[0]
        assert b'"visit"' in body
        with_tokens(home, CLICK_ROWS, one="shop")
        eventually(lambda: receiver.attempts[-1][0] != first, 60, "it was made again")
        receiver.script.clear()
        eventually(lambda: [row["step"] for row in receiver.table()] == ["click"], 60)
        assert all(b'"visit"' not in body for delivery, body in receiver.attempts if delivery != first)
        assert receiver.faults == []


def test_webhook_pauses_while_its_host_is_not_allowed(home: Path) -> None:
    def served(*hosts: str) -> AbstractContextManager[TestClient]:
        return api_client(home, home / "conf", address="10.0.0.7", hosts=frozenset(hosts))

    def last_error(client: TestClient) -> str:
        return str(listed(client, "one")[0]["last_error"])

    with delivered() as receiver:
        with served("127.0.0.1") as client:
            register(client, receiver, "one")
            eventually(lambda: len(receiver.table()) == 2)
        before = len(receiver.attempts)
        add(home, 2)
        with served() as client:
            eventually(lambda: "webhook_hosts" in last_error(client), what="the reason is stored")
            assert len(receiver.attempts) == before
        with served("127.0.0.1"):
            eventually(lambda: len(receiver.table()) == 4)
        assert receiver.faults == []
