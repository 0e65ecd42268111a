"""Persons are erased while traffic goes on and the engine is killed at five moments: nothing of them is left.

Neither is in the topic, once records are deleted from it.

ERASED_PEOPLE, ERASURE_EVENTS and ERASURE_REQUESTS set the size; each request has five kills.
"""

import csv
import os
import random
import subprocess
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import polars as pl
import psutil
import pytest

from bronze.kafka import stored_records
from kit.erased_worlds import files_with
from kit.home import JOBS, ROOT, Home, command
from kit.polling import eventually
from kit.processes import assert_nothing_runs
from kit.tables import commits, deterministic_columns, folder
from millrace.local.process import process_registry
from millrace.local.process.ports import stable_port
from millrace.tables import table_scan
from privacy.identities import Person, find_people
from privacy.requests.register import Register

PEOPLE = int(os.environ.get("ERASED_PEOPLE", "20"))
EVENTS = int(os.environ.get("ERASURE_EVENTS", "4000"))
REQUESTS = int(os.environ.get("ERASURE_REQUESTS", "1"))
MOMENTS = (
    "ops.erased_identities",
    "silver.events",
    "silver.sessions",
    "gold.conversions",
    "gold.visitor_minutes",
)
"""The engine is killed after the next commit of each."""
COMPARED = ("silver.events", "silver.sessions", "silver.identities", "gold.touches", "gold.conversions")
TIMEOUT = 1800  # seconds, on a busy machine


@pytest.fixture
def workspace(new_home: Callable[..., Home]) -> Iterator[Home]:
    """A home whose workspace runs, on the shared broker."""
    home = new_home(MILLRACE_DASHBOARD_PORT=str(stable_port()), MILLRACE_TRIGGER_INTERVAL="PT1S")
    home.must("produce", "--events", str(EVENTS), "--seed", "1")
    home.must("up")
    yield home
    home.must("down")
    assert_nothing_runs(home.path, seconds=1)


def published(home: Home) -> int:
    """The number of records that publish has processed."""
    if not commits(home, "ops.ledger"):
        return 0
    ledger = pl.scan_delta(folder(home, "ops.ledger")).filter(pl.col("job") == JOBS[-1])
    return int(ledger.select(pl.col("input_rows").sum()).collect().item())


def is_caught_up(home: Home, sent: int) -> bool:
    """Whether publish has processed all records, and what repair has made of all of them."""
    last = pl.read_delta(folder(home, "ops.ledger")).sort("started_at").group_by("job").last()
    rows = {row["job"]: row for row in last.iter_rows(named=True)}
    refined, repaired, done = (rows[job] for job in ("refine", "repair", "publish"))
    is_applied = done["heard"] is not None and done["heard"] >= repaired["position"] >= refined["position"]
    return is_applied and published(home) == sent


def java(home: Home) -> psutil.Process | None:
    engine = process_registry.running(home.path, "engine")
    children = engine.children() if engine else []
    return next((child for child in children if child.name() == "java"), None)


def choose(home: Home, file: Path, seed: int) -> Person:
    """Choose visitors for one request, and write them to a file for the command."""
    events = pl.read_delta(folder(home, "silver.events"), columns=["visitor_id", "user_id"])
    visitors = sorted(events["visitor_id"].unique())
    chosen = random.Random(seed).sample(visitors, PEOPLE // REQUESTS)
    users = sorted(set(events.filter(pl.col("visitor_id").is_in(chosen))["user_id"].drop_nulls()))
    with file.open("w", newline="") as lines:
        rows = csv.writer(lines)
        rows.writerow(("kind", "value"))
        rows.writerows(("user", each) for each in users)
        rows.writerows(("visitor", each) for each in chosen)
    return find_people(partial(table_scan.scan, home.settings), users, chosen)


def erase(home: Home, *arguments: str) -> subprocess.Popen[str]:
    given = {"env": home.env, "cwd": ROOT, "stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    return subprocess.Popen(command("erase", *arguments), text=True, **given)  # type: ignore[call-overload,no-any-return]


def kill_after_commit(home: Home, table: str, erasing: subprocess.Popen[str]) -> bool:
    """Kill the engine's Java process after the next commit; returns whether the erasure had not ended yet."""
    before = commits(home, table)
    eventually(lambda: commits(home, table) > before or erasing.poll() == 0, TIMEOUT, f"a commit to {table}")
    if erasing.poll() == 0:
        return False
    victim = java(home)
    assert victim is not None
    victim.kill()
    erasing.communicate()
    assert erasing.returncode == 1
    eventually(lambda: java(home) not in (None, victim), TIMEOUT, "the engine runs again")
    return True


def erase_under_kills(home: Home, file: Path, seeds: Iterator[int]) -> int:
    """Erase the persons of a file, and kill the engine at each of `MOMENTS`; returns the number of kills."""
    erasing, kills = erase(home, "--file", str(file)), 0
    for table in MOMENTS:
        if not kill_after_commit(home, table, erasing):
            break
        kills += 1
        home.must("produce", "--events", "200", "--seed", str(next(seeds)))
        erasing = erase(home, "--request", Register(home.path).requests()[-1].id)
    _, said = erasing.communicate()
    assert erasing.returncode == 0, said
    return kills


def topic_names(home: Home, texts: Collection[str]) -> bool:
    """Whether a record that is left in the topic names one of the texts."""
    values = [record.value or b"" for record in stored_records(home.settings, home.topic)]
    return any(text.encode() in value for value in values for text in texts)


def test_nothing_is_left_whatever_is_killed(workspace: Home, tmp_path: Path) -> None:
    home, file, seeds = workspace, tmp_path / "people.csv", count(2)
    eventually(lambda: published(home) == EVENTS, TIMEOUT, "the first events are in gold")
    texts, kills = set[str](), 0
    for number in range(REQUESTS):
        texts |= set(choose(home, file, seed=5 + number).own_texts)
        kills += erase_under_kills(home, file, seeds)
    assert len(texts) > PEOPLE // 2
    assert kills >= 3 * REQUESTS
    sent = EVENTS + 200 * kills
    eventually(lambda: is_caught_up(home, sent), TIMEOUT, "all traffic is in gold")
    home.must("audit")
    home.must("down")
    assert files_with(home.path, texts) == {}
    assert {request.state for request in Register(home.path).requests()} == {"erased"}
    assert topic_names(home, texts)
    for request in Register(home.path).requests():
        home.must("erase", "--request", request.id, "--from-kafka")
    assert not topic_names(home, texts)
    before = {name: deterministic_columns(home, name) for name in COMPARED}
    home.must("rebuild", *COMPARED)
    assert {name: deterministic_columns(home, name) for name in COMPARED} == before
    home.must("audit")
