"""A table with frequent commits, and a digest of its rows at every version."""

import json
import random
import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from kit import delta_writer
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import TOUCHES
from lakehouse.contracts.table import DELETED
from lakehouse.delta.log_files import latest_version

NAME = TOUCHES.name
_NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
_CHANNELS = ("Email", "Paid Search", "Direct", "Organic Search", None)

Row = dict[str, Any]


def row_number(row: Mapping[str, Any]) -> int:
    """A hash of a row as a number. The digest of a version is the sum over all rows."""
    return zlib.crc32(json.dumps(dict(row), sort_keys=True).encode()) * 2_654_435_761 % (1 << 61)


class LiveTable:
    """gold.touches of a home, written with the merges that jobs use.

    Args:
        home: the home.
        rows: number of initial rows.
        seed: the random seed of the changes.
        recent: only this many of the latest rows may be updated or deleted.
        properties: Delta properties of the table.
    """

    def __init__(
        self,
        home: Path,
        rows: int = 0,
        seed: int = 1,
        recent: int = 10_000,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = home.joinpath("warehouse", *NAME.split("."))
        self._warehouse = home / "warehouse"
        delta_writer.create_table(self._warehouse, TOUCHES, properties)
        self._recent = recent
        self._random = random.Random(seed)
        self._count = 0
        self._rows: dict[str, Row] = {}
        self._digest = 0
        self.version = latest_version(self.folder)
        self.digests: dict[int, int] = {self.version: 0}
        """Digest of the rows by version."""
        while len(self._rows) < rows:
            self.commit(inserts=min(100_000, rows - len(self._rows)), updates=0, deletes=0)

    @property
    def rows(self) -> list[Row]:
        """The current rows, as decoded from JSON."""
        return list(self._rows.values())

    def commit(self, inserts: int = 5, updates: int = 10, deletes: int = 2) -> int:
        """Commit some row changes. Returns the version."""
        changed: dict[str, Row | None] = {}
        recent = list(self._rows)[-self._recent :]
        some = self._random.sample(recent, min(updates + deletes, len(recent)))
        for place, touch_id in enumerate(some):
            changed[touch_id] = None if place < deletes else self._new_row(touch_id)
        for _ in range(inserts):
            self._count += 1
            touch_id = f"t{self._count:09}"
            changed[touch_id] = self._new_row(touch_id)
        self._merge(changed)
        self.version += 1
        self.digests[self.version] = self._digest
        return self.version

    def compact(self) -> None:
        """Compact the files, in a commit that changes no row."""
        from deltalake import DeltaTable

        DeltaTable(self.folder).optimize.compact()
        for version in range(self.version + 1, latest_version(self.folder) + 1):
            self.version, self.digests[version] = version, self._digest

    def _new_row(self, touch_id: str) -> Row:
        at = _NOON + timedelta(seconds=self._random.randrange(86_400), microseconds=int(touch_id[1:]) % 7)
        row: Row = dict.fromkeys(TOUCHES.column_names)
        row |= {
            "touch_id": touch_id,
            "visitor_id": f"v{self._random.randrange(1_000)}",
            "touched_at": at.isoformat().replace("+00:00", "Z"),
            "kind": "visit",
            "channel": self._random.choice(_CHANNELS),
            "url": f"https://shop.example/ä/{self._random.randrange(100)}",
            "earns_credit": self._random.random() < 0.9,
        }
        return row

    def _merge(self, changed: Mapping[str, Row | None]) -> None:
        before = {touch_id: self._rows.get(touch_id) for touch_id in changed}
        written = []
        for touch_id, row in changed.items():
            whole = row or before[touch_id] or {}
            at = datetime.fromisoformat(whole["touched_at"].replace("Z", "+00:00"))
            written.append({**whole, "touched_at": at, DELETED: row is None})
        schema = arrow_schema(TOUCHES).append(pa.field(DELETED, pa.bool_()))
        rows = pa.Table.from_pylist(written, schema)
        place = schema.get_field_index("touched_at")
        rows = rows.set_column(place, "touched_at", rows["touched_at"].cast(pa.int64()))
        delta_writer.merge(self._warehouse, TOUCHES, rows, {})
        for touch_id, row in changed.items():
            self._digest -= row_number(before[touch_id]) if before[touch_id] else 0
            self._digest += row_number(row) if row else 0
            if row is None:
                del self._rows[touch_id]
            else:
                self._rows[touch_id] = row
