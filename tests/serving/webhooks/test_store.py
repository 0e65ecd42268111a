"""The webhook store keeps webhooks, and ignores delivery updates of nodes without the lease."""

import stat
from pathlib import Path

import pytest

from serving.stream.wanted import Wanted
from serving.webhooks.store import WebhookStore
from serving.webhooks.webhook import Webhook

WEBHOOK = Webhook("whk_1", "(local)", "http://127.0.0.1:1/", Wanted("gold.funnel"), 2.0, "whsec_x")


@pytest.fixture
def store(tmp_path: Path) -> WebhookStore:
    found = WebhookStore(tmp_path / "serve" / "webhooks.db")
    assert found.add(WEBHOOK, 2)
    return found


def test_webhook_survives_reopening_the_store(store: WebhookStore, tmp_path: Path) -> None:
    wanted = Wanted("gold.funnel", where={"step": ["visit"]}, select=("visitors",))
    assert store.add(Webhook("whk_2", "(local)", "http://[::1]/", wanted, 0.0, "whsec_y", position="p"), 2)
    again = WebhookStore(tmp_path / "serve" / "webhooks.db")
    assert [found.id for found in again.all()] == ["whk_1", "whk_2"]
    found = again.get("whk_2")
    assert found is not None
    assert (found.wanted, found.position) == (wanted, "p")


def test_webhook_beyond_the_limit_is_not_added(store: WebhookStore) -> None:
    assert not store.add(
        Webhook("whk_2", "(local)", "http://127.0.0.1:1/", Wanted("gold.funnel"), 0.0, ""), 1
    )
    assert len(store.all()) == 1


def test_store_file_is_accessible_only_to_its_owner(store: WebhookStore, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "serve" / "webhooks.db").stat().st_mode) == 0o600


def test_lease_is_exclusive_until_it_expires_or_is_released(store: WebhookStore) -> None:
    assert store.take_lease("a", 100, 10)
    assert not store.take_lease("b", 110, 10)
    assert store.take_lease("a", 105, 10)
    assert not store.take_lease("b", 115, 10)
    assert store.take_lease("b", 115.1, 10)
    assert not store.take_lease("a", 116, 10)
    store.release_lease("a")
    assert not store.take_lease("a", 116, 10)
    store.release_lease("b")
    assert store.take_lease("a", 116, 10)


def test_only_lease_holder_updates_a_webhook(store: WebhookStore) -> None:
    assert store.take_lease("a", 100, 10)
    assert store.set_pending("a", WEBHOOK, b"body", "p1")
    assert store.take_lease("b", 111, 10)
    assert not store.set_delivered("a", WEBHOOK)
    assert not store.set_position("a", WEBHOOK, "p9")
    store.set_failed("a", WEBHOOK, "error", 1.0)
    store.disable("a", WEBHOOK, "error", 1.0)
    found = store.get("whk_1")
    assert found is not None
    assert (found.position, found.state, found.last_error) == (None, "active", None)
    assert store.set_delivered("b", WEBHOOK)
    found = store.get("whk_1")
    assert found is not None
    assert (found.position, found.sent, found.pending) == ("p1", 1, None)


def test_pending_delivery_is_neither_replaced_nor_skipped(store: WebhookStore) -> None:
    assert store.take_lease("a", 100, 10)
    assert store.set_pending("a", WEBHOOK, b"body", "p1")
    assert not store.set_pending("a", WEBHOOK, b"other", "p2")
    assert not store.set_position("a", WEBHOOK, "p2")
    found = store.get("whk_1")
    assert found is not None
    assert found.pending is not None
    assert (found.pending.id, found.pending.body) == ("whk_1.1", b"body")


def test_failing_since_is_first_failure_and_clears_on_success(store: WebhookStore) -> None:
    assert store.take_lease("a", 100, 10)
    assert store.set_pending("a", WEBHOOK, b"body", "p1")
    store.set_failed("a", WEBHOOK, "one", 5.0)
    store.set_failed("a", WEBHOOK, "two", 6.0)
    found = store.get("whk_1")
    assert found is not None
    assert (found.failing_since, found.last_error, found.state) == (5.0, "two", "failing")
    assert store.set_delivered("a", WEBHOOK)
    found = store.get("whk_1")
    assert found is not None
    assert (found.failing_since, found.last_error, found.state) == (None, None, "active")


def test_disabled_webhook_keeps_its_position_and_no_pending_delivery(store: WebhookStore) -> None:
    assert store.take_lease("a", 100, 10)
    assert store.set_position("a", WEBHOOK, "p1")
    assert store.set_pending("a", WEBHOOK, b"body", "p2")
    store.disable("a", WEBHOOK, "status 410", 5.0)
    found = store.get("whk_1")
    assert found is not None
    assert (found.state, found.position, found.pending) == ("disabled", "p1", None)
