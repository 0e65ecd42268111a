"""Retries, back-off and giving up, in one process with short times."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from kit.delivered import Behaviour, Delivered, delivered
from kit.warehouse_builder import append_rows
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.readers.folder_tables import FolderTables
from serving.stream.hub import Hub, Limits
from serving.stream.subscription import Terms
from serving.stream.wanted import Wanted
from serving.webhooks.deliveries import Deliveries
from serving.webhooks.delivery import Retries, RoleOf
from serving.webhooks.sender import Answer, Sender
from serving.webhooks.signing import new_secret
from serving.webhooks.store import WebhookStore
from serving.webhooks.webhook import Pending, Webhook

TABLE = "gold.funnel"
FAULTS = (Behaviour.TAKE, Behaviour.REFUSE, Behaviour.LOSE, Behaviour.HANG)
SHORT_RETRIES = Retries(first=0.01, longest=0.05, timeout=0.6)


def add(home: Path, day: int) -> dict[str, Any]:
    at = date(2026, 1, 1) + timedelta(day)
    append_rows(home, TABLE, [{"day": at, "step": "visit", "visitors": day}])
    return {"day": at.isoformat(), "step": "visit", "visitors": day}


async def wait_until(condition: Callable[[], Any], seconds: float = 20) -> None:
    async def poll() -> None:
        while not condition():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(poll(), seconds)


def run_with_deliveries(
    home: Path,
    receiver: Delivered,
    retries: Retries,
    work: Callable[[WebhookStore], Awaitable[None]],
    nodes: int = 1,
    role_of: RoleOf | None = None,
) -> None:
    """Run work while changes of a table are delivered to a receiver."""

    async def run() -> None:
        store = WebhookStore(home / "webhooks.db")
        if not store.all():
            receiver.secret = new_secret()
            store.add(Webhook("whk_1", "(local)", receiver.url, Wanted(TABLE), 0.0, receiver.secret), 10)
        hub, role = Hub(FolderTables(home / "warehouse"), Limits()), Role("admin", MaskKey(home))
        try:
            async with AsyncExitStack() as running:
                for _ in range(nodes):
                    deliveries = Deliveries(hub, role_of or (lambda _: role), store, Terms(), retries)
                    await running.enter_async_context(deliveries.running())
                await work(store)
        finally:
            hub.stop()

    asyncio.run(run())


@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.sampled_from(FAULTS), max_size=5))
@example([Behaviour.REFUSE, Behaviour.LOSE, Behaviour.HANG, Behaviour.TAKE, Behaviour.REFUSE])
def test_failing_receiver_gets_each_delivery_in_order(script: list[Behaviour]) -> None:
    with TemporaryDirectory() as folder, delivered(Delivered(script=list(script)), 0.9) as receiver:
        home = Path(folder)
        rows = [add(home, 0)]

        async def work(store: WebhookStore) -> None:
            while receiver.script or len(rows) < 4:
                rows.append(add(home, len(rows)))
                await wait_until(lambda: receiver.table() == rows)

        run_with_deliveries(home, receiver, SHORT_RETRIES, work)
        assert receiver.numbers == list(range(1, len(receiver.numbers) + 1))
        assert receiver.faults == []
        bodies: dict[str, set[bytes]] = {}
        for delivery, body in receiver.attempts:
            bodies.setdefault(delivery, set()).add(body)
        assert [delivery for delivery, found in bodies.items() if len(found) > 1] == []


def test_webhook_is_not_disabled_by_a_failure_after_its_token_was_invalid(tmp_path: Path) -> None:
    rows, role = [add(tmp_path, 0)], Role("admin", MaskKey(tmp_path))
    roles: list[Role | None] = [role]
    retries = Retries(first=0.01, longest=0.05, timeout=0.6, give_up=0.5)
    with delivered() as receiver:

        async def work(store: WebhookStore) -> None:
            await wait_until(lambda: receiver.table() == rows)
            roles[0] = None
            rows.append(add(tmp_path, 1))
            await wait_until(lambda: "may not read" in (store.all()[0].last_error or ""))
            await asyncio.sleep(2 * retries.give_up)
            receiver.script.append(Behaviour.REFUSE)
            roles[0] = role
            await wait_until(lambda: receiver.table() == rows)
            assert store.all()[0].disabled_at is None

        run_with_deliveries(tmp_path, receiver, retries, work, role_of=lambda _: roles[0])
    assert receiver.script == []


def test_unanswered_delivery_is_repeated_by_next_server(tmp_path: Path) -> None:
    rows = [add(tmp_path, 0)]
    long_timeout = Retries(first=0.01, longest=0.05, timeout=30)
    with delivered(Delivered(script=[Behaviour.HANG]), 2) as receiver:

        async def wait_for_first_attempt(_: WebhookStore) -> None:
            await wait_until(lambda: receiver.attempts)

        async def wait_for_all_rows(_: WebhookStore) -> None:
            await wait_until(lambda: receiver.table() == rows)

        run_with_deliveries(tmp_path, receiver, long_timeout, wait_for_first_attempt)
        rows.append(add(tmp_path, 1))
        run_with_deliveries(tmp_path, receiver, long_timeout, wait_for_all_rows)
    assert receiver.attempts[1] == receiver.attempts[0]
    assert (receiver.numbers, receiver.faults) == ([1, 2], [])


def test_one_node_delivers_once_lease_of_dead_node_has_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serving.webhooks.deliveries._LOOK_SECONDS", 0.1)
    rows, ends = [add(tmp_path, 0)], time.time() + 1
    assert WebhookStore(tmp_path / "webhooks.db").take_lease("dead", ends - 1, 1)
    with delivered() as receiver:

        async def work(_: WebhookStore) -> None:
            await wait_until(lambda: receiver.table() == rows)
            assert time.time() > ends
            for day in (1, 2):
                rows.append(add(tmp_path, day))
                await wait_until(lambda: receiver.table() == rows)

        run_with_deliveries(tmp_path, receiver, SHORT_RETRIES, work, nodes=2)
        assert len(receiver.attempts) == len(set(receiver.attempts)), "each was sent once"
    assert (receiver.numbers, receiver.faults) == ([1, 2, 3], [])


def test_deliveries_stop_even_if_a_cancellation_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, 0)
    lost: list[bool] = []

    async def losing(self: Sender, pending: Pending) -> Answer:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if lost:
                raise
            lost.append(True)  # as asyncio.wait_for does before Python 3.12, if an answer comes just then
        return Answer("lost")

    monkeypatch.setattr(Sender, "send", losing)
    with delivered() as receiver:

        async def work(store: WebhookStore) -> None:
            await wait_until(lambda: (found := store.get("whk_1")) and found.pending)

        started = time.monotonic()
        run_with_deliveries(tmp_path, receiver, Retries(first=30, longest=60), work)
    assert time.monotonic() - started < 25
    assert WebhookStore(tmp_path / "webhooks.db").take_lease("another", time.time(), 10)


def test_webhook_that_keeps_failing_is_disabled_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add(tmp_path, 0)
    with delivered(Delivered(script=[Behaviour.REFUSE] * 1000)) as receiver:

        async def work(store: WebhookStore) -> None:
            await wait_until(lambda: store.all()[0].state == "disabled")

        with caplog.at_level(logging.WARNING, "serving"):
            run_with_deliveries(tmp_path, receiver, Retries(first=0.01, longest=0.05, give_up=0.3), work)
        found = WebhookStore(tmp_path / "webhooks.db").get("whk_1")
        assert found is not None
        assert (found.position, found.sent, found.last_error) == (None, 0, "status 503")
        assert found.pending is None
        assert "is disabled: status 503" in caplog.text
        assert len(receiver.attempts) > 1


def test_410_response_disables_webhook_at_once(tmp_path: Path) -> None:
    add(tmp_path, 0)
    with delivered(Delivered(script=[Behaviour.GONE])) as receiver:

        async def work(store: WebhookStore) -> None:
            await wait_until(lambda: store.all()[0].state == "disabled")

        run_with_deliveries(tmp_path, receiver, SHORT_RETRIES, work)
        assert len(receiver.attempts) == 1


def test_back_off_doubles_up_to_its_maximum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, 0)
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        if seconds in (0.01, 0.02, 0.04, 0.05):
            pauses.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr("serving.webhooks.delivery.asyncio.sleep", noted)
    with delivered(Delivered(script=[Behaviour.REFUSE] * 5)) as receiver:

        async def work(store: WebhookStore) -> None:
            while not receiver.order:
                await sleep(0.007)

        run_with_deliveries(tmp_path, receiver, Retries(first=0.01, longest=0.05), work)
    assert pauses[:5] == [0.01, 0.02, 0.04, 0.05, 0.05]


def test_oversized_change_group_is_not_sent_and_sets_last_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, 0)
    monkeypatch.setattr("serving.webhooks.groups.MOST_BYTES", 50)
    with delivered() as receiver:

        async def work(store: WebhookStore) -> None:
            await wait_until(lambda: store.all()[0].last_error)

        run_with_deliveries(tmp_path, receiver, SHORT_RETRIES, work)
        assert receiver.attempts == []
        assert "larger than" in str(WebhookStore(tmp_path / "webhooks.db").all()[0].last_error)
