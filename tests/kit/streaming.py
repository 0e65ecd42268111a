"""Runs `millrace serve` as a process."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kit.home import ROOT, command
from kit.polling import eventually
from kit.serving import answers

_UP_SECONDS = 30


@dataclass
class Server:
    """A server that can be killed and started again.

    Args:
        home: whose tables it serves.
        port: on 127.0.0.1.
        more: further arguments.
    """

    home: Path
    port: int
    more: tuple[str, ...] = ()
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text()

    @property
    def _log(self) -> Path:
        return self.home / f"serve-{self.port}.log"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        env = {**os.environ, "MILLRACE_HOME": str(self.home), "PYTHONPATH": str(ROOT / "src")}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                command("serve", "--port", str(self.port), *self.more),
                env=env,
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        eventually(
            lambda: answers(f"{self.url}/health") or self.process.poll() is not None,
            _UP_SECONDS,
            "the streaming API answers",
        )
        assert self.process.poll() is None, self.log

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextmanager
def streaming_api(home: Path, port: int, *more: str) -> Iterator[Server]:
    """A server that answers; killed at the end of the block."""
    server = Server(home, port, more)
    try:
        server.start()
        yield server
    finally:
        server.kill()
