"""Runs `millrace watch` as a process, and reads its lines while it runs."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from kit.home import ROOT, command
from kit.polling import eventually

SECONDS = 60.0


class Watch:
    """`millrace watch` of a home, writing to a file; use it as a context manager.

    Args:
        home: the home.
        output: file to which its lines are appended.
        arguments: of the command.
        more: further variables of its environment.
    """

    def __init__(self, home: Path, output: Path, *arguments: str, **more: str) -> None:
        self._output = output
        self._errors = output.with_suffix(".errors")
        env = {**os.environ, "MILLRACE_HOME": str(home), "PYTHONPATH": str(ROOT / "src"), **more}
        with output.open("ab") as lines, self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command("watch", *arguments, "--interval", "0.05"),
                env=env,
                cwd=ROOT,
                stdout=lines,
                stderr=errors,
            )

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Kill it, as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    def interrupt(self) -> int:
        """Send SIGINT; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(SECONDS)

    def reaches(self, position: dict[str, int]) -> list[dict[str, Any]]:
        """Wait for a position; all lines so far."""
        eventually(lambda: self._at(position), SECONDS, f"position {position}")
        assert self._at(position), self._errors.read_text()
        return lines_of(self._output)

    def _at(self, position: dict[str, int]) -> bool:
        return {"position": position} in lines_of(self._output) or self.process.poll() is not None


def lines_of(output: Path) -> list[dict[str, Any]]:
    """The complete lines of a file; lines that were cut off by a kill are left out."""
    found = []
    for line in output.read_text().splitlines(keepends=True):
        with suppress(ValueError):
            found += [json.loads(line)] if line.endswith("\n") else []
    return found
