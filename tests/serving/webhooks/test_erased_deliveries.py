"""After an erasure, a running server delivers no rows of the person, and all rows of others."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from kit.delivered import Behaviour, Delivered, delivered
from kit.polling import eventually_async
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.readers.folder_tables import FolderTables
from lakehouse.settings import load_settings
from millrace.operations.erase_files import erase_files
from serving.stream.hub import Hub, Limits
from serving.stream.subscription import Terms
from serving.stream.wanted import Wanted
from serving.webhooks.deliveries import Deliveries
from serving.webhooks.delivery import Retries
from serving.webhooks.signing import new_secret
from serving.webhooks.store import WebhookStore
from serving.webhooks.webhook import Webhook

TABLE, PERSON = "gold.funnel", "anna-4711"
RETRIES = Retries(first=0.05, longest=0.2, timeout=10)


def row(step: str) -> dict[str, Any]:
    return {"day": date(2026, 1, 1), "step": step, "visitors": 1}


def shown(*steps: str) -> list[dict[str, Any]]:
    return sorted(({**row(step), "day": "2026-01-01"} for step in steps), key=json.dumps)


def run(home: Path, receiver: Delivered, work: Callable[[WebhookStore], Awaitable[None]]) -> None:
    """Run work while changes of a table are delivered to a receiver."""

    async def deliver() -> None:
        store = WebhookStore(home / "serve" / "webhooks.db")
        receiver.secret = new_secret()
        assert store.add(Webhook("whk_1", "(local)", receiver.url, Wanted(TABLE), 0.0, receiver.secret), 1)
        hub, role = Hub(FolderTables(home / "warehouse"), Limits()), Role("admin", MaskKey(home))
        deliveries = Deliveries(hub, lambda _: role, store, Terms(), RETRIES)
        try:
            async with deliveries.running():
                await work(store)
        finally:
            hub.stop()

    asyncio.run(deliver())


async def erase(home: Path, *left: str) -> None:
    replace_rows(home, TABLE, map(row, left))
    await asyncio.sleep(1.5)  # the server has read the commit
    await asyncio.to_thread(lambda: list(erase_files(load_settings(home=home), [PERSON])))


def test_dropped_delivery_is_followed_by_all_rows_without_the_person(tmp_path: Path) -> None:
    append_rows(tmp_path, TABLE, [row("visit")])
    with delivered() as receiver:

        async def work(store: WebhookStore) -> None:
            await eventually_async(lambda: receiver.table() == shown("visit"))
            receiver.script = [Behaviour.REFUSE] * 1000
            append_rows(tmp_path, TABLE, [row(PERSON)])
            await eventually_async(lambda: store.all()[0].state == "failing")
            append_rows(tmp_path, TABLE, [row("order")])
            await erase(tmp_path, "visit", "order")
            before = len(receiver.attempts)
            receiver.script = []
            await eventually_async(lambda: receiver.table() == shown("visit", "order"))
            assert [body for _, body in receiver.attempts[before + 1 :] if PERSON.encode() in body] == []
            append_rows(tmp_path, TABLE, [row("search")])
            await eventually_async(lambda: receiver.table() == shown("visit", "order", "search"))

        run(tmp_path, receiver, work)
    assert (receiver.numbers[0], receiver.numbers[1:], receiver.faults) == (1, [3, 4], [])


@pytest.mark.parametrize("behaviour", [Behaviour.HANG, Behaviour.LOSE])
def test_delivery_that_was_accepted_while_it_was_dropped_counts_once(
    tmp_path: Path, behaviour: Behaviour
) -> None:
    append_rows(tmp_path, TABLE, [row("visit")])
    with delivered(hang_seconds=3) as receiver:

        async def work(store: WebhookStore) -> None:
            await eventually_async(lambda: receiver.table() == shown("visit"))
            receiver.script = [behaviour, *[Behaviour.REFUSE] * 1000]
            append_rows(tmp_path, TABLE, [row(PERSON), row("order")])
            await eventually_async(lambda: receiver.table() == shown("visit", PERSON, "order"))
            await erase(tmp_path, "visit", "order")
            receiver.script = []
            await eventually_async(lambda: receiver.table() == shown("visit", "order"))

        run(tmp_path, receiver, work)
    assert receiver.numbers == [1, 2, 3]
    assert receiver.faults == []
