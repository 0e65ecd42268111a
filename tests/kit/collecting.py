"""Runs collectors as processes, alone or behind a load balancer, and reads what they forwarded."""

import json
import os
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from intake.log.accounts import Account, read_accounts
from intake.log.place import log_files
from kit.home import ROOT, Home, command
from kit.polling import eventually
from kit.running_dashboard import answers
from kit.sending import in_topic

_UP_SECONDS = 30
ONE_SOURCE = f"sources: [{{name: shop, key_sha256: [{sha256(b'key').hexdigest()}]}}]"
"""A sources.yml with one source, whose write key is `key`."""


@dataclass
class Node:
    """A collector that can be killed and started again.

    Args:
        home: the home with its message log.
        port: on 127.0.0.1.
        name: the name of the node.
        more: further arguments.
        prefix: a program that runs it, with its arguments.
    """

    home: Home
    port: int
    name: str = "main"
    more: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        arguments = ("collect", "--port", str(self.port), "--node", self.name, *self.more)
        with (self.home.path / f"collect-{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                (*self.prefix, *command(*arguments)),
                env=self.home.env,
                cwd=self.home.place,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        eventually(self.answers, _UP_SECONDS, "the node answers")

    def answers(self) -> bool:
        """Whether it answers."""
        return answers(f"http://127.0.0.1:{self.port}/health")

    def wait_until_ready(self, seconds: float = 60) -> None:
        """Wait until the backlog of its last run is in Kafka."""
        eventually(lambda: answers(f"http://127.0.0.1:{self.port}/ready"), seconds, "the node is ready")

    def kill(self) -> None:
        """Kill it with SIGKILL, like a crash."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def wait_until_forwarded(self, seconds: float = 60) -> None:
        """Wait until its log has no pending messages."""
        eventually(
            lambda: all(each.waiting == 0 for each in accounts_of(self.home, self.name).values()),
            seconds,
            "all is in Kafka",
        )


@contextmanager
def collector(home: Home, port: int, name: str = "main", *more: str) -> Iterator[Node]:
    """A collector that answers; killed at the end of the block."""
    node = Node(home, port, name, more)
    try:
        node.start()
        yield node
    finally:
        node.kill()


def with_sources(home: Home, text: str) -> Home:
    """The home with its own copy of conf/ and the given sources.yml."""
    place = home.path / "checkout"
    shutil.copytree(ROOT / "conf", place / "conf")
    for name in ("bundle.yml", "resources", "targets"):
        (place / name).symlink_to(ROOT / name)
    (place / "conf" / "sources.yml").write_text(text)
    return Home(home.path, home.bootstrap, home.topic, home.more, place)


def values_in(home: Home) -> list[dict[str, Any]]:
    """All events in the topic."""
    return [json.loads(record.value) for record in in_topic(home.settings) if record.value is not None]


def accounts_of(home: Home, node: str = "main") -> dict[str, Account]:
    """The counts of a node's log, by source."""
    return {account.source: account for account in read_accounts(log_files(home.path)[node])}


def forwarded(home: Home) -> int:
    """Number of events that Kafka has from the collector `main`."""
    return sum(account.forwarded for account in accounts_of(home).values())


def health(port: int) -> dict[str, Any]:
    """The health report of a collector without declared sources."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
