"""Bodies of pending deliveries, up to 16 MiB each, are read with their own webhook only."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serving.stream.wanted import Wanted
from serving.webhooks import store as store_module
from serving.webhooks.store import WebhookStore
from serving.webhooks.webhook import Webhook


@pytest.fixture
def store(tmp_path: Path) -> WebhookStore:
    """Two webhooks with a pending delivery that has failed once."""
    found = WebhookStore(tmp_path / "webhooks.db")
    assert found.take_lease("a", 100, 10)
    for name in ("whk_1", "whk_2"):
        webhook = Webhook(name, "(local)", "http://127.0.0.1:1/", Wanted("gold.funnel"), 0.0, "whsec_x")
        assert found.add(webhook, 2)
        assert found.set_pending("a", webhook, b"body of " + name.encode(), "p1")
        found.set_failed("a", webhook, "status 503", 5.0)
    return found


def test_list_of_webhooks_has_their_state_without_pending_deliveries(store: WebhookStore) -> None:
    found = [(each.id, each.state, each.last_error, each.pending) for each in store.all()]
    assert found == [("whk_1", "failing", "status 503", None), ("whk_2", "failing", "status 503", None)]


def test_one_webhook_is_read_without_the_others(store: WebhookStore, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    decode: Callable[[Any], Webhook] = store_module._webhook

    def counting(row: Any) -> Webhook:
        read.append(row["id"])
        return decode(row)

    monkeypatch.setattr(store_module, "_webhook", counting)
    found = store.get("whk_2")
    assert found is not None
    assert found.pending is not None
    assert found.pending.body == b"body of whk_2"
    assert store.get("whk_3") is None
    assert read == ["whk_2"]
