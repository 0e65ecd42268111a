"""Runs `millrace serve` as a process that can be killed and started again."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kit.home import ROOT, command
from kit.polling import eventually
from kit.running_dashboard import answers
from millrace.local.process.ports import stable_port

_UP_SECONDS = 60


@dataclass
class ApiProcess:
    """A server of the streaming API.

    Args:
        home: with the tables.
        port: on 127.0.0.1.
        more: further arguments.
        place: working directory; its bundle is used.
        env: its settings, as MILLRACE_* variables; those of this process are not inherited.
    """

    home: Path
    port: int = field(default_factory=stable_port)
    more: tuple[str, ...] = ()
    place: Path = ROOT
    env: Mapping[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """The text of its log."""
        return self._log.read_text()

    @property
    def _log(self) -> Path:
        return self.home / f"serve-{self.port}.log"

    def launch(self) -> None:
        """Start it, without waiting until it answers."""
        bare = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
        ours = {"MILLRACE_HOME": str(self.home), "MILLRACE_TRUST_LOCAL": "true"}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                command("serve", "--port", str(self.port), *self.more),
                env={**bare, **ours, "PYTHONPATH": str(ROOT / "src"), **self.env},
                cwd=self.place,
                stdout=log,
                stderr=log,
            )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.launch()
        process = self.process
        assert process is not None
        eventually(
            lambda: process.poll() is not None or answers(f"{self.url}/health"), _UP_SECONDS, "it answers"
        )
        assert process.poll() is None, self.log

    def kill(self) -> None:
        """Kill it with SIGKILL, like a crash."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def api_process(home: Path, *more: str, place: Path = ROOT, **env: str) -> Iterator[ApiProcess]:
    """A server that answers; killed at the end of the block."""
    server = ApiProcess(home, more=more, place=place, env=env)
    try:
        server.start()
        yield server
    finally:
        server.kill()
