"""A broker that is killed and started again with its data."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from millrace.local.kafka.broker import wait_until_ready
from millrace.local.kafka.broker_setup import prepare_broker
from millrace.local.process.child_process import Child
from millrace.local.process.home_lock import workspace_lock
from millrace.local.process.ports import stable_port


@dataclass
class KilledBroker:
    """A broker of its own for one test.

    Args:
        folder: for its data.
        port: on 127.0.0.1.
    """

    folder: Path
    port: int
    _child: Child | None = field(default=None, init=False)

    @property
    def bootstrap(self) -> str:
        """Its bootstrap address, as host:port."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._child = Child(prepare_broker(self.folder, self.port))
        wait_until_ready(self._child, self.port)

    def kill(self) -> None:
        """Kill it with SIGKILL, like a crash."""
        if self._child is not None:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.stop(10)
            self._child = None


@contextmanager
def killed_broker(folder: Path) -> Iterator[KilledBroker]:
    """A broker that answers; killed at the end of the block."""
    folder.mkdir(parents=True)
    broker = KilledBroker(folder, stable_port())
    with workspace_lock(folder):
        try:
            broker.start()
            yield broker
        finally:
            broker.kill()
