"""Capture of a shop's database in tests: as a process that is killed, and what arrives in Kafka."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from folds.shop.row_history import TRUNCATE, Change, Values, Version, versions_of
from kit.home import ROOT

Histories = dict[str, dict[str, list[Version]]]


class CaptureProcess:
    """`millrace capture` as a process.

    Args:
        home: folder of its log.
        env: its environment.
    """

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self._log, self._env = home / "capture.log", {**os.environ, "PYTHONPATH": str(ROOT / "src"), **env}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "millrace", "capture", "shop", *options]
            self._process = subprocess.Popen(command, env=self._env, cwd=ROOT, stdout=log, stderr=log)

    def keep_running(self) -> None:
        """Start it, if it does not run."""
        if self._process is None or self._process.poll() is not None:
            self.start()

    def log(self) -> str:
        """What it has printed."""
        return self._log.read_text()

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def end(self) -> int:
        """End it with SIGTERM; return its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(30)


@contextmanager
def capture_process(home: Path, env: Mapping[str, str]) -> Iterator[CaptureProcess]:
    """A capture that is not started; killed at the end of the block."""
    home.mkdir(exist_ok=True, parents=True)
    process = CaptureProcess(home, env)
    try:
        yield process
    finally:
        process.kill()


def captured_changes(bootstrap: str, topic: str) -> list[dict[str, Any]]:
    """All committed changes of a topic; none if it does not exist."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
    try:
        places = [TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic) or ()]
        if not places:
            return []
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        ends = consumer.end_offsets(places)
        found = []
        while any(consumer.position(place) < end for place, end in ends.items()):
            for records in consumer.poll(timeout_ms=1000).values():
                found += [json.loads(each.value) for each in records if each.value is not None]
        return found
    finally:
        consumer.close()


def histories(changes: list[dict[str, Any]]) -> Histories:
    """By table and key, the versions of a row."""
    truncates, rows = defaultdict(list), defaultdict(lambda: defaultdict(list))
    for each in changes:
        change = Change(
            *(each["lsn"], each["sequence"], each["kind"], each["committed_at"], each["row"]),
            tuple(each["unchanged"]),
        )
        if each["kind"] == TRUNCATE:
            truncates[each["table"]].append(change)
        else:
            rows[each["table"]][next(iter(each["key"].values()))].append(change)
    return {
        table: {key: versions_of([*truncates[table], *of_key]) for key, of_key in by_key.items()}
        for table, by_key in rows.items()
    }


def current(versions: Mapping[str, list[Version]]) -> dict[str, tuple[str | None, ...]]:
    """Rows that are there now, by key."""
    return {
        key: tuple(of_key[-1].row.values())
        for key, of_key in versions.items()
        if of_key and of_key[-1].valid_to is None
    }


def apply_changes(rows: dict[str, dict[str, Values]], changes: list[dict[str, Any]]) -> None:
    """Apply new changes to the rows of all tables, by table and key."""
    for each in sorted(changes, key=lambda each: (each["lsn"], each["sequence"])):
        of_table = rows.setdefault(each["table"], {})
        if each["kind"] == TRUNCATE:
            of_table.clear()
            continue
        key = next(iter(each["key"].values()))
        known = of_table.pop(key, {})
        if each["row"] is not None:
            of_table[key] = {**each["row"], **{name: known[name] for name in each["unchanged"]}}
