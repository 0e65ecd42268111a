"""Runs `millrace serve` as a process that can be killed, and writes commits for it to stream."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from kit.home import ROOT, command
from kit.polling import eventually
from kit.serving import answers
from millrace.local.process.ports import stable_port

_UP_SECONDS = 60


@dataclass
class StreamNode:
    """A server of the streaming API; use it as a context manager.

    Args:
        home: whose tables it serves.
        port: on 127.0.0.1.
    """

    home: Path
    port: int = field(default_factory=stable_port)
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def __enter__(self) -> "StreamNode":
        self.start()
        self.wait_until_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, without waiting for it."""
        env = {**os.environ, "MILLRACE_HOME": str(self.home), "PYTHONPATH": str(ROOT / "src")}
        with (self.home.parent / f"serve-{self.port}.log").open("ab") as log:
            self.process = subprocess.Popen(
                command("serve", "--port", str(self.port)), env=env, cwd=ROOT, stdout=log, stderr=log
            )

    def wait_until_ready(self) -> None:
        """Wait until it answers."""
        eventually(lambda: answers(f"{self.url}/health"), _UP_SECONDS, "the server answers")

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
