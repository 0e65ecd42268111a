"""Rows as of a position, from which their changes go on, and rows after a collector's receipt."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kit.api_client import api_client
from kit.cursors import changes_of, table_source
from kit.warehouse_builder import append_rows
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderTables
from lakehouse.readers.positions import snapshot_versions
from serving.api.receipts import Receipts
from serving.query_limits import TryLaterError
from serving.sources.cursor import Cursor

FUNNEL = "gold.funnel"
EARLY, LATE = 1_795_000_000_000_000, 1_795_000_100_000_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for upto, step in ((EARLY, "visit"), (LATE, "order")):
        append_rows(tmp_path, FUNNEL, [{"step": step, "visitors": 1}], upto=upto)
    return tmp_path


def steps(client: TestClient, **asked: str) -> list[str]:
    answer = client.get("/v1/rows", params=asked)
    assert answer.status_code == 200, answer.text
    return sorted(json.loads(line)["step"] for line in answer.text.splitlines())


@pytest.mark.parametrize(
    "asked", [{"table": FUNNEL}, {"sql": f"SELECT step FROM {FUNNEL}"}], ids=["table", "sql"]
)
def test_rows_as_of_a_position_go_on_with_the_changes_after_it(home: Path, asked: dict[str, str]) -> None:
    with api_client(home) as client:
        assert steps(client, **asked) == ["order", "visit"]
        assert steps(client, **asked, as_of=str(EARLY + 5)) == ["visit"]
        answer = client.get("/v1/rows", params={**asked, "as_of": str(EARLY + 5)})
        after = {"after": answer.headers["millrace-position"], "wait": "5"}
        messages = client.get("/v1/poll", params={**asked, **after}).json()["messages"]
    changed: list[Any] = [row for message in messages for row in message.get("changes", ())]
    assert [change["after"]["step"] for change in changed] == ["order"]


def test_position_of_other_layers_or_in_other_words_is_refused(home: Path) -> None:
    append_rows(home, "ops.ledger", [])
    with api_client(home) as client:
        for asked, message in (
            ({"table": "ops.ledger", "as_of": str(LATE)}, "not read as of a position"),
            ({"table": FUNNEL, "as_of": "yesterday"}, "'yesterday' is no position"),
            ({"table": FUNNEL, "receipt": "r1"}, "this server knows no receipts"),
        ):
            answer = client.get("/v1/rows", params=asked)
            assert (answer.status_code, message in answer.json()["error"]) == (400, True), answer.text


def test_cursor_begins_with_the_rows_as_of_a_position(home: Path) -> None:
    at = snapshot_versions(FolderTables(home / "warehouse"), str(EARLY), [FUNNEL])
    cursor = Cursor(table_source(home, FUNNEL), start=at)
    assert [change["after"]["step"] for change in changes_of(cursor)] == ["visit"]
    (change,) = changes_of(cursor)
    assert (change["after"]["step"], change["upto"]) == ("order", "2026-11-18T11:08:20Z")


def test_few_readers_wait_for_receipts_at_the_same_time() -> None:
    import asyncio

    may_end = threading.Event()
    receipts = Receipts(lambda *_: assert_ends(may_end))

    async def main() -> None:
        waiting = [asyncio.create_task(receipts.wait_for("r", 9, name)) for name in ("a", "a", "b")]
        await asyncio.sleep(0)
        with pytest.raises(TryLaterError):  # one reader alone can't keep others from waiting
            await receipts.wait_for("r", 9, "a")
        waiting.append(asyncio.create_task(receipts.wait_for("r", 9, "b")))
        await asyncio.sleep(0)
        with pytest.raises(TryLaterError):
            await receipts.wait_for("r", 9, "c")
        await asyncio.wait_for(asyncio.to_thread(int), 5)  # threads of others are free
        may_end.set()
        await asyncio.gather(*waiting)
        await receipts.wait_for("r", 9, "a")

    asyncio.run(main())


def assert_ends(event: threading.Event) -> None:
    if not event.wait(20):
        raise MillraceError("it never came", "")
