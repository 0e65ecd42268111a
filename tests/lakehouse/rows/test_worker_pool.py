"""The worker pool: rows of a key stay in one part, and no process or memory is leaked."""

import os
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.polling import eventually
from lakehouse.rows import worker_pool
from lakehouse.rows.worker_pool import count_parts, map_parts, split_by_key

PROCESS_ID = "__import__('os').getpid()"
ROWS = st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(0, 9)), max_size=20)


@given(ROWS, ROWS, st.integers(1, 4))
def test_split_keeps_rows_of_a_key_together_and_loses_none(left, right, parts):
    tables = {
        name: pa.table({"key": pa.array([key for key, _ in rows], pa.string()), "n": [n for _, n in rows]})
        for name, rows in (("left", left), ("right", right))
    }
    split = split_by_key(tables, "key", parts)
    assert len(split) == parts
    keys = [{key for table in part.values() for key in table["key"].to_pylist()} for part in split]
    assert sum(map(len, keys)) == len(set().union(*keys))
    for name, rows in (("left", left), ("right", right)):
        found = [tuple(row.values()) for part in split for row in part[name].to_pylist()]
        assert sorted(found) == sorted(rows)


def test_few_rows_are_computed_in_calling_process(monkeypatch):
    monkeypatch.setattr(worker_pool, "_cores", lambda: 4)
    assert [count_parts(rows) for rows in (0, 19_999, 20_000, 35_000, 10**6)] == [1, 1, 2, 3, 4]
    assert map_parts(eval, [PROCESS_ID]) == [os.getpid()]


def test_parts_are_computed_in_worker_processes_in_order():
    assert map_parts(len, ["a", "bb", "ccc"]) == [1, 2, 3]
    assert os.getpid() not in map_parts(eval, [PROCESS_ID, PROCESS_ID])


def test_slice_is_pickled_without_rest_of_table(monkeypatch):
    files, make = [], worker_pool._shared_memory
    monkeypatch.setattr(worker_pool, "_shared_memory", lambda: files.append(make()) or os.dup(files[0]))
    table = pa.table(
        {"text": ["x" * 1_000] * 1_000, "nested": [{"list": [number]} for number in range(1_000)]}
    )
    part = table.slice(500, 3)
    assert ForkingPickler.loads(bytes(ForkingPickler.dumps(part))).equals(part)
    assert 0 < os.fstat(files[0]).st_size < 10_000
    os.close(files[0])


@pytest.mark.parametrize("rows", [0, 3])
def test_shared_memory_is_freed_after_tables_are_returned(rows):
    tables = [pa.table({"text": ["a"] * rows}), pa.table({"text": ["b"] * rows})]
    returned = map_parts(partial(eval, "rows"), [{"rows": table} for table in tables])
    assert returned == tables
    del returned
    eventually(lambda: not shared_memory_files(), 10, "the memory to be freed")


@pytest.mark.parametrize(("others", "length"), [(11, 1), (2, 40_000_000)])
def test_shared_memory_is_freed_after_workers_are_killed(others, length):
    """Also that of a table which is still being copied to it when a worker dies."""
    map_parts(len, ["a", "b"])  # the pool has started
    sizes = [1] + [length] * others
    kill = "__import__('os').kill(__import__('os').getpid(), 9)"
    with pytest.raises(BrokenProcessPool):
        map_parts(partial(eval, kill), [{"rows": pa.table({"text": ["a" * size]})} for size in sizes])
    eventually(lambda: not shared_memory_files(), 10, "the memory to be freed")


def shared_memory_files() -> list[str]:
    """Tables in shared memory that this process or a worker holds."""
    me = psutil.Process()
    opened = [file for process in (me, *me.children()) for file in Path(f"/proc/{process.pid}/fd").iterdir()]
    return [str(file) for file in opened if os.path.lexists(file) and "memfd:rows" in str(file.readlink())]


def test_killed_worker_is_replaced_at_next_call():
    with pytest.raises(BrokenProcessPool):
        map_parts(eval, ["__import__('os').kill(__import__('os').getpid(), 9)"] * 2)
    assert map_parts(len, ["a", "bb"]) == [1, 2]


def test_script_without_main_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from lakehouse.rows.worker_pool import map_parts\nprint(map_parts(len, ['a', 'bb']), flush=True)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("[1, 2]\n", "")


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_workers_exit_with_parent_process(ending: signal.Signals) -> None:
    started = "from lakehouse.rows.worker_pool import map_parts; map_parts(len, ['a', 'b'])"
    program = f"{started}; print(flush=True); input()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        workers = psutil.Process(parent.pid).children(recursive=True)
        parent.send_signal(ending)
    assert workers
    eventually(lambda: not any(_is_alive(worker) for worker in workers), 10)


def test_exit_at_once_leaves_no_temporary_files(tmp_path: Path) -> None:
    program = """
import pyarrow as pa
from lakehouse.rows.worker_pool import exit_at_once, map_parts
tables = [pa.table({"n": [1]})] * 2
assert map_parts(pa.Table.combine_chunks, tables) == tables
exit_at_once(3)
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=False, timeout=60)
    assert done.returncode == 3
    eventually(lambda: not list(tmp_path.iterdir()), 10, "the workers to end")


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
