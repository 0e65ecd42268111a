"""Runs `millrace serve` as a process that can be killed and started again."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kit.home import ROOT
from kit.polling import eventually
from kit.serving import answers
from millrace.local.process.ports import stable_port

_UP_SECONDS = 40


@dataclass
class ApiProcess:
    """A server of the streaming API.

    Args:
        home: with the tables.
        port: on 127.0.0.1.
        more: further arguments.
        place: working directory: its bundle is used.
    """

    home: Path
    port: int = field(default_factory=stable_port)
    more: tuple[str, ...] = ()
    place: Path = ROOT
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What it wrote."""
        return self.home / f"serve-{self.port}.log"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        bare = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "millrace", "serve", "--port", str(self.port), *self.more],
                env={**bare, "MILLRACE_HOME": str(self.home), "PYTHONPATH": str(ROOT / "src")},
                cwd=self.place,
                stdout=log,
                stderr=log,
            )
        process = self.process
        eventually(
            lambda: process.poll() is not None or answers(f"{self.url}/health"), _UP_SECONDS, "it answers"
        )
        assert process.poll() is None, self.log.read_text()

    def kill(self) -> None:
        """`kill -9`."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextmanager
def api_process(home: Path, *more: str, place: Path = ROOT) -> Iterator[ApiProcess]:
    """A server that answers; killed at the end of the block."""
    server = ApiProcess(home, more=more, place=place)
    try:
        server.start()
        yield server
    finally:
        server.kill()
