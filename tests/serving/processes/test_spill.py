"""What queries write to disk is removed however they end, and leaves enough of the disk free."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kit.fork_servers import fork_servers, new_fork_server
from kit.home import ROOT
from kit.polling import eventually
from kit.warehouse_builder import append_rows
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderTables
from serving.processes.query_processes import QueryProcesses
from serving.processes.spill import SpillFolders
from serving.query_limits import QueryLimits

TABLE = "gold.funnel"
SORTED = (
    f"SELECT count(*) AS n FROM (SELECT t0.step AS a, t1.step AS b, t2.step AS c FROM {TABLE} AS t0,"
    f" {TABLE} AS t1, {TABLE} AS t2 ORDER BY c, b, a LIMIT 20000000)"
)
"""A query that sorts 27 million rows: more than its memory holds."""
LIMITS = QueryLimits(seconds=60.0, memory=32 << 20, disk=1 << 30)
SERVER = """
import sys, time
from pathlib import Path
from serving.processes.spill import SpillFolders
from serving.query_limits import QueryLimits
folders = SpillFolders(QueryLimits(), Path(sys.argv[1]))
query = folders.start() / "query"
query.mkdir()
query.joinpath("file").write_text("rows")
print(flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> FolderTables:
    home = tmp_path_factory.mktemp("home")
    append_rows(home, TABLE, [{"step": f"s{number:03}"} for number in range(300)])
    return FolderTables(home / "warehouse")


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[QueryProcesses]:
    found = QueryProcesses(LIMITS, tmp_path / "queries")
    yield found
    found.stop()


def files_in(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock"]


def test_killed_query_leaves_nothing_on_disk(
    tmp_path: Path, tables: FolderTables, processes: QueryProcesses
) -> None:
    folder, before = tmp_path / "queries", fork_servers()

    def ask() -> None:
        with suppress(MillraceError):
            processes.open(tables, SORTED, None, "one")

    asking = threading.Thread(target=ask)
    asking.start()
    eventually(lambda: files_in(folder), what="the query writes to disk")
    (query,) = new_fork_server(before).children()
    query.kill()
    asking.join(30)
    assert not files_in(folder)
    assert [each.suffix for each in folder.iterdir()].count("") == 1  # that of the server
    processes.stop()
    assert not list(folder.iterdir())


def test_next_server_removes_what_a_killed_one_has_left_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVER, str(tmp_path)]
    servers = []
    for _ in range(2):
        server = subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT / "src")})
        assert server.stdout is not None
        assert server.stdout.readline()
        servers.append(server)
    assert len(files_in(tmp_path)) == 2
    servers[0].kill()
    servers[0].wait()
    third = SpillFolders(QueryLimits(), tmp_path)
    third.start()
    assert len(files_in(tmp_path)) == 1
    servers[1].kill()
    servers[1].wait()
    third.stop()


@pytest.mark.parametrize(("free", "size"), [(0, 0), (100, 0), (399, 99), (400, 100), (10_000, 1_000)])
def test_queries_together_leave_a_part_of_the_disk_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, size: int
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
    folders = SpillFolders(QueryLimits(disk=1_000, free_disk=100, at_once=3), tmp_path)
    with folders.folder() as spill:
        assert spill.size == size
    folders.stop()


def test_query_that_needs_a_full_disk_is_ended_with_the_reason(tmp_path: Path, tables: FolderTables) -> None:
    full = QueryLimits(memory=32 << 20, free_disk=1 << 60)
    processes = QueryProcesses(full, tmp_path / "queries")
    try:
        with pytest.raises(MillraceError, match="32 MiB of memory and 0 MiB of disk"):
            processes.open(tables, SORTED, None, "one")
        opened = processes.open(tables, f"SELECT step FROM {TABLE}", None, "one")
        assert len(list(opened.result.keyed())) == 300
    finally:
        processes.stop()
    assert not list((tmp_path / "queries").iterdir())
