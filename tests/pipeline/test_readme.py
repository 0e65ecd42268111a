"""The commands of the README and of docs/own-data.md, run as a reader would."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.home import REAL_LOG, ROOT
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.long


class Reader:
    """Types the lines of a page in a shell, in a folder and a home of its own.

    Lines that set up the checkout or the home are left out: both are there.
    """

    def __init__(self, folder: Path, page: Path) -> None:
        self.text = page.read_text(encoding="utf-8")
        self.folder = folder
        self.env = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "MILLRACE_HOME": str(folder / "home"),
            "MILLRACE_BROKER_PORT": str(stable_port()),
            "MILLRACE_DASHBOARD_PORT": str(stable_port()),
        }

    def lines(self, heading: str) -> Iterator[str]:
        """The shell lines of a section; an example of events in it is saved as `events.jsonl`."""
        section = self.text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        for language, block in re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL):
            if language == "json":
                (self.folder / "events.jsonl").write_text(block, encoding="utf-8")
            if language == "sh":
                yield from (line for line in block.splitlines() if not re.match("make|export", line))

    def type(self, line: str) -> str:
        """Run a line, which has to succeed."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in ("bundle.yml", "resources", "targets", "conf"):  # a reader is in a checkout
        (tmp_path / part).symlink_to(ROOT / part)
    log = REAL_LOG.read_text(encoding="utf-8").splitlines(keepends=True)[:200]
    (tmp_path / "access.log").write_text("".join(log), encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(not REAL_LOG.is_file(), reason="the real log is not there")
@pytest.mark.parametrize(
    ("page", "headings"),
    [
        ("README.md", ["Your own data"]),
        ("docs/own-data.md", ["Send events", "Ask"]),
        ("docs/own-data.md", ["Send events", "Step by step"]),
    ],
)
def test_documented_commands_lead_from_events_to_credit(folder: Path, page: str, headings: list[str]) -> None:
    reader = Reader(folder, ROOT / page)
    try:
        shown = {}
        for heading in headings:
            for line in reader.lines(heading):
                shown[line.partition("#")[0].strip()] = reader.type(line)
        explained = shown.get("millrace explain conversion A-1") or reader.type(
            "millrace explain conversion A-1"
        )
        assert "Email" in explained
        assert "42.5" in explained
    finally:
        reader.type("millrace down")
