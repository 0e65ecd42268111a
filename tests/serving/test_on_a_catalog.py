"""`millrace watch` and `millrace serve` over the tables of a catalog, as real commands."""

import os
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from kit.api_process import ApiProcess, api_process
from kit.catalog_server import CatalogServer
from kit.delta_writer import STORED_CHANGES
from kit.home import command
from kit.live_table import NAME, LiveTable, row_number
from kit.polling import eventually
from kit.user_database import sqlite_database
from kit.watching import Watch
from millrace.client import Consumer, Stream, TableMirror, follow

QUERY = f"SELECT channel, count(*) AS touches FROM {NAME} GROUP BY channel"


@pytest.fixture(scope="module")
def table(catalog: CatalogServer, tmp_path_factory: pytest.TempPathFactory) -> LiveTable:
    """A table of the catalog that stores changes."""
    home = tmp_path_factory.mktemp("home")
    made = LiveTable(home, rows=200, properties=STORED_CHANGES)
    catalog.register(home)
    return made


@pytest.fixture(scope="module")
def home(table: LiveTable) -> Path:
    return table.folder.parents[2]


@pytest.fixture(scope="module")
def server(catalog: CatalogServer, home: Path) -> Iterator[ApiProcess]:
    with api_process(home, **catalog.env) as running:
        yield running


def test_watch_prints_the_changes_of_each_commit(
    catalog: CatalogServer, table: LiveTable, home: Path, tmp_path: Path
) -> None:
    position = tmp_path / "position"
    arguments = (NAME, "--changes", "--resume", str(position))
    first = table.version
    with Watch(home, tmp_path / "lines", *arguments, **catalog.env) as running:
        running.reaches({NAME: first})
        table.commit()
        table.compact()
        lines = running.reaches({NAME: table.version})
    table.commit()
    with Watch(home, tmp_path / "lines", *arguments, **catalog.env) as running:
        lines = running.reaches({NAME: table.version})
    digest, held, done = 0, 0, -1
    for line in lines:
        for side, sign in (("before", -1), ("after", 1)):
            held += sign * row_number(line[side]) if line.get(side) else 0
        if "position" in line:
            version = line["position"].get(NAME, -1)
            if version > done:  # else written before a kill, and repeated
                digest, done = digest + held, version
                assert digest == table.digests[version]
            held = 0
    assert {line["position"].get(NAME) for line in lines if "position" in line} >= {first, table.version}


@pytest.mark.long
def test_watch_of_a_query_follows_its_result(
    catalog: CatalogServer, table: LiveTable, home: Path, tmp_path: Path
) -> None:
    with Watch(home, tmp_path / "lines", QUERY, "--changes", **catalog.env) as running:
        running.reaches({NAME: table.version})
        table.commit()
        lines = running.reaches({NAME: table.version})
    state = {}
    for line in lines:
        if line.get("after") is not None:
            state[line["after"]["channel"]] = line["after"]["touches"]
    assert state == Counter(row["channel"] for row in table.rows)


def test_followers_get_every_version_once(server: ApiProcess, table: LiveTable) -> None:
    digest, seen = 0, []
    for group in follow(server.url, table=NAME, after=None):
        digest = 0 if group.reset else digest
        for change in group.row_changes:
            digest += row_number(change.after) if change.after else 0
            digest -= row_number(change.before) if change.before else 0
        version = group.versions[NAME]
        assert digest == table.digests[version]
        if version not in seen:
            seen.append(version)
            table.commit()
        if len(seen) == 4:
            break
    assert seen == list(range(seen[0], seen[0] + 4))


def test_rows_and_poll_give_rows_and_standing_queries(server: ApiProcess, table: LiveTable) -> None:
    answer = httpx.get(f"{server.url}/v1/rows", params={"sql": QUERY}, timeout=60)
    found = {row["channel"]: row["touches"] for row in map(httpx_json, answer.text.splitlines())}
    assert found == Counter(row["channel"] for row in table.rows)
    where = '{"channel": ["Email"]}'
    polled = httpx.get(f"{server.url}/v1/poll", params={"table": NAME, "where": where}, timeout=60).json()
    rows = [row for message in polled["messages"] for row in message.get("rows", ())]
    assert len(rows) == found["Email"]
    refused = httpx.get(f"{server.url}/v1/rows", params={"sql": "SELECT no FROM gold.touches"}, timeout=60)
    assert refused.status_code == 400
    assert '"no" not found' in refused.json()["error"]


def httpx_json(line: str) -> Any:
    return httpx.Response(200, text=line).json()


@pytest.mark.long
def test_mirror_in_a_database_stays_equal(server: ApiProcess, table: LiveTable, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "user.db")) as connection:
        connection.execute("CREATE TABLE mirrored (channel, touches)")
        connection.commit()
    database = sqlite_database(tmp_path / "user.db")
    consumer = Consumer(database.store, "mirrored", Stream(server.url, sql=QUERY))
    thread = threading.Thread(target=consumer.run, args=(TableMirror("mirrored"),), daemon=True)
    thread.start()
    for _ in range(2):
        table.commit()
        expected = Counter(Counter(row["channel"] for row in table.rows).items())
        eventually(lambda: mirrored(tmp_path) == expected, 30, "the mirror is equal")  # noqa: B023
        assert mirrored(tmp_path) == expected
    consumer.stop()
    table.commit()
    thread.join(30)
    assert not thread.is_alive()


def mirrored(folder: Path) -> Counter[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "user.db")) as connection:
        return Counter(connection.execute("SELECT channel, touches FROM mirrored").fetchall())


def test_without_a_warehouse_the_commands_name_the_settings(home: Path) -> None:
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("SPARK_REMOTE", "DATABRICKS_WAREHOUSE_ID")
    }
    env |= {"MILLRACE_CATALOG": "main", "MILLRACE_HOME": str(home)}
    for arguments in (("watch", NAME), ("serve", "--trust-local")):
        done = subprocess.run(command(*arguments), env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "Set DATABRICKS_WAREHOUSE_ID or SPARK_REMOTE" in done.stderr.replace("\n", " ")
