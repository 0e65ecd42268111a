"""The table versions that API readers saw are logged on the first read, once a minute and at the end."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kit.access import policy
from kit.live_table import NAME, LiveTable
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.policy import ADMIN
from lakehouse.access.role import Role
from lakehouse.access.tokens import digest_of
from lakehouse.readers.folder_tables import FolderTables
from serving.api.app import StreamingApi
from serving.api.readers import Reader, Readers
from serving.api.sessions import Sessions
from serving.stream.hub import Hub, Limits
from serving.stream.seen_versions import SeenVersions, subject_of
from serving.stream.subscription import Terms
from serving.stream.wanted import Wanted

TOKEN = "t" * 40
POLICY = f"""
roles:
  touches: {{tables: [{NAME}]}}
tokens:
  - {{name: shop-bi, token_sha256: {digest_of(TOKEN)}, role: touches}}
"""


class Notes:
    """Keeps logged reads in memory."""

    def __init__(self) -> None:
        self.taken: list[tuple[Any, ...]] = []
        self.is_closed = False

    def note(
        self,
        reader: str,
        role: str,
        way: str,
        versions: Mapping[str, int],
        subject: str,
        rows: int | None = None,
    ) -> None:
        self.taken.append((reader, role, way, dict(versions), subject))

    def close(self) -> None:
        self.is_closed = True

    @property
    def versions(self) -> list[int]:
        return [note[3][NAME] for note in self.taken]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def reader(home: Path) -> Reader:
    return Reader("ann", Role(ADMIN, MaskKey(home)), lambda: True)


def test_stream_reads_are_logged_first_each_minute_and_at_the_end(tmp_path: Path) -> None:
    notes, clock = Notes(), Clock()
    seen = SeenVersions(notes, "shop-bi", "analyst", Wanted(NAME), clock)
    for second, version in ((0, 1), (1, 2), (59, 3), (60, 4), (61, 5), (119, 6)):
        clock.now = 100.0 + second
        seen.note({NAME: version})
    seen.note({})
    assert notes.versions == [1, 4]
    seen.end()
    assert notes.versions == [1, 4, 6]


def test_unchanged_version_is_logged_once(tmp_path: Path) -> None:
    notes, clock = Notes(), Clock()
    seen = SeenVersions(notes, "shop-bi", "analyst", Wanted(NAME), clock)
    for _ in range(3):
        seen.note({NAME: 1})
        clock.now += 100
    seen.end()
    assert notes.versions == [1]


def test_reader_without_data_is_not_logged(tmp_path: Path) -> None:
    notes = Notes()
    seen = SeenVersions(notes, "shop-bi", "analyst", Wanted(NAME))
    seen.note({})
    seen.end()
    assert notes.taken == []


@pytest.mark.parametrize(
    ("wanted", "subject"),
    [
        (Wanted(sql="SELECT 1"), "SELECT 1"),
        (Wanted(NAME), NAME),
        (Wanted(NAME, where={"channel": ["Email"]}), f'{NAME} where {{"channel": ["Email"]}}'),
        (Wanted(NAME, select=("url", "kind")), f"{NAME} select url, kind"),
    ],
)
def test_subject_describes_requested_query_or_table(wanted: Wanted, subject: str) -> None:
    assert subject_of(wanted) == subject


@pytest.mark.parametrize(
    ("path", "fields"),
    [("rows", {"table": NAME}), ("rows", {"sql": f"SELECT count(*) FROM {NAME}"}), ("poll", {"table": NAME})],
)
def test_api_logs_reader_role_and_table_version_of_each_read(
    tmp_path: Path, path: str, fields: dict[str, str]
) -> None:
    table, notes = LiveTable(tmp_path, rows=20), Notes()
    declared, sessions = policy(tmp_path, POLICY), Sessions(b"k" * 32)
    hub = Hub(FolderTables(tmp_path / "warehouse"), Limits())
    api = StreamingApi(hub, Readers(lambda: declared, sessions), sessions, Terms(), 10, notes)
    with TestClient(api.app()) as client:
        refused = client.get(f"/v1/{path}", params=fields, headers={"Authorization": "Bearer x"})
        assert refused.status_code == 401
        assert notes.taken == []
        answer = client.get(f"/v1/{path}", params=fields, headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200, answer.text
    subject = fields.get("sql", NAME)
    assert notes.taken == [("shop-bi", "touches", "api", {NAME: table.version}, subject)]
    assert notes.is_closed
