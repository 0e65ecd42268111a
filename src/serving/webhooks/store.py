"""Webhooks in SQLite, with their positions, and the lease of the node that delivers."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from serving.webhooks.webhook import Pending, Webhook, wanted_from_text, wanted_to_text

_SCHEMA = """
CREATE TABLE IF NOT EXISTS webhooks (
  id TEXT PRIMARY KEY,
  reader TEXT NOT NULL,
  url TEXT NOT NULL,
  wanted TEXT NOT NULL,
  interval REAL NOT NULL,
  secret TEXT NOT NULL,
  position TEXT,
  sent INTEGER NOT NULL DEFAULT 0,
  pending_body BLOB,
  pending_position TEXT,
  failing_since REAL,
  last_error TEXT,
  disabled_at REAL
);
CREATE TABLE IF NOT EXISTS lease (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  owner TEXT NOT NULL,
  until REAL NOT NULL
);
"""
_BUSY_SECONDS = 10.0
_WITHOUT_PENDING = (
    "id, reader, url, wanted, interval, secret, position, sent, NULL AS pending_body, failing_since, "
    "last_error, disabled_at"
)
"""Columns without the pending delivery, whose body has up to 16 MiB."""

FILE = "webhooks.db"
"""In the folder `serve` of a home."""

_OWNED = "EXISTS (SELECT * FROM lease WHERE owner = :owner)"


class WebhookStore:
    """The webhooks of a home.

    Writes of a delivering node take effect only while it holds the lease.

    Args:
        file: the database.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)  # it contains the secrets
        with self._connection() as connection:
            connection.executescript(f"PRAGMA journal_mode = WAL; {_SCHEMA}")

    def add(self, webhook: Webhook, most: int) -> bool:
        """Add a webhook, unless there are too many."""
        values = {
            "id": webhook.id,
            "reader": webhook.reader,
            "url": webhook.url,
            "wanted": wanted_to_text(webhook.wanted),
            "interval": webhook.interval,
            "secret": webhook.secret,
            "position": webhook.position,
            "most": most,
        }
        return self._change(
            "INSERT INTO webhooks (id, reader, url, wanted, interval, secret, position) "
            "SELECT :id, :reader, :url, :wanted, :interval, :secret, :position "
            "WHERE (SELECT count(*) FROM webhooks) < :most",
            values,
        )

    def all(self) -> list[Webhook]:
        """The webhooks without their pending deliveries, in the order of their registration."""
        with self._connection() as connection:
            found = connection.execute(f"SELECT {_WITHOUT_PENDING} FROM webhooks ORDER BY rowid")
            return [_webhook(row) for row in found]

    def get(self, webhook_id: str) -> Webhook | None:
        """A webhook by id."""
        with self._connection() as connection:
            row = connection.execute("SELECT * FROM webhooks WHERE id = ?", (webhook_id,)).fetchone()
            return None if row is None else _webhook(row)

    def remove(self, webhook_id: str, reader: str) -> bool:
        """Remove a webhook of a reader; False if the reader has none with that id."""
        values = {"id": webhook_id, "reader": reader}
        return self._change("DELETE FROM webhooks WHERE id = :id AND reader = :reader", values)

    def take_lease(self, owner: str, now: float, seconds: float) -> bool:
        """Take or renew the lease; False while another node holds it."""
        return self._change(
            "INSERT INTO lease VALUES (1, :owner, :until) ON CONFLICT DO UPDATE "
            "SET owner = :owner, until = :until WHERE owner = :owner OR until < :now",
            {"owner": owner, "now": now, "until": now + seconds},
        )

    def release_lease(self, owner: str) -> None:
        """Release the lease."""
        self._change("DELETE FROM lease WHERE owner = :owner", {"owner": owner})

    def set_pending(self, owner: str, webhook: Webhook, body: bytes, position: str) -> bool:
        """Store the next delivery of a webhook before its first attempt."""
        return self._change(
            "UPDATE webhooks SET pending_body = :body, pending_position = :position "
            f"WHERE id = :id AND pending_body IS NULL AND {_OWNED}",
            {"owner": owner, "id": webhook.id, "body": body, "position": position},
        )

    def set_delivered(self, owner: str, webhook: Webhook) -> bool:
        """Advance the position after the receiver has accepted the pending delivery."""
        return self._change(
            "UPDATE webhooks SET position = pending_position, sent = sent + 1, pending_body = NULL, "
            "pending_position = NULL, failing_since = NULL, last_error = NULL "
            f"WHERE id = :id AND pending_body IS NOT NULL AND {_OWNED}",
            {"owner": owner, "id": webhook.id},
        )

    def drop_pending(self, owner: str, webhook: Webhook) -> bool:
        """Drop the pending delivery. Its number is not used again, since it may have arrived."""
        return self._change(
            "UPDATE webhooks SET sent = sent + 1, pending_body = NULL, pending_position = NULL "
            f"WHERE id = :id AND pending_body IS NOT NULL AND {_OWNED}",
            {"owner": owner, "id": webhook.id},
        )

    def set_position(self, owner: str, webhook: Webhook, position: str) -> bool:
        """Advance the position without a delivery, since nothing has changed."""
        return self._change(
            "UPDATE webhooks SET position = :position, failing_since = NULL, last_error = NULL "
            f"WHERE id = :id AND pending_body IS NULL AND {_OWNED}",
            {"owner": owner, "id": webhook.id, "position": position},
        )

    def set_failed(self, owner: str, webhook: Webhook, error: str, now: float) -> None:
        """Store the error of a failed attempt."""
        self._change(
            "UPDATE webhooks SET failing_since = coalesce(failing_since, :now), last_error = :error "
            f"WHERE id = :id AND {_OWNED}",
            {"owner": owner, "id": webhook.id, "now": now, "error": error},
        )

    def set_error(self, owner: str, webhook: Webhook, error: str) -> None:
        """Store why nothing can be sent. Unlike a failed attempt, it does not count against the receiver."""
        self._change(
            f"UPDATE webhooks SET failing_since = NULL, last_error = :error WHERE id = :id AND {_OWNED}",
            {"owner": owner, "id": webhook.id, "error": error},
        )

    def disable(self, owner: str, webhook: Webhook, error: str, now: float) -> None:
        """Disable a webhook, and drop its pending delivery: nothing is sent any more."""
        self._change(
            "UPDATE webhooks SET disabled_at = :now, last_error = :error, pending_body = NULL, "
            f"pending_position = NULL WHERE id = :id AND {_OWNED}",
            {"owner": owner, "id": webhook.id, "now": now, "error": error},
        )

    def erase_pending(self, is_named: Callable[[bytes], bool]) -> int:
        """Drop pending deliveries that name a person, and overwrite the file's free space. Idempotent.

        Such a delivery may have arrived, and changes after the position may have the person's rows. So the
        position is dropped too: the next delivery has all rows, after a reset.

        Args:
            is_named: whether a body names the person.

        Returns:
            The number of deliveries.
        """
        count = 0
        for webhook_id in [webhook.id for webhook in self.all()]:
            webhook = self.get(webhook_id)
            if webhook is not None and webhook.pending is not None and is_named(webhook.pending.body):
                count += self._change(
                    "UPDATE webhooks SET position = NULL, sent = sent + 1, pending_body = NULL, "
                    "pending_position = NULL WHERE id = :id AND sent = :sent AND pending_body IS NOT NULL",
                    {"id": webhook.id, "sent": webhook.sent},
                )
        with self._connection() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return count

    def _change(self, sql: str, values: dict[str, Any]) -> bool:
        """Run a statement as a transaction. Returns whether it changed a row."""
        with self._connection() as connection, connection:
            return connection.execute(sql, values).rowcount > 0

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file, timeout=_BUSY_SECONDS)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA secure_delete = ON")  # bodies have rows of persons
            yield connection


def _webhook(row: sqlite3.Row) -> Webhook:
    pending = None
    if row["pending_body"] is not None:
        pending = Pending(f"{row['id']}.{row['sent'] + 1}", row["pending_body"], row["pending_position"])
    return Webhook(
        row["id"],
        row["reader"],
        row["url"],
        wanted_from_text(row["wanted"]),
        row["interval"],
        row["secret"],
        row["position"],
        row["sent"],
        pending,
        row["failing_since"],
        row["last_error"],
        row["disabled_at"],
    )
