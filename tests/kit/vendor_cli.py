"""The command line of Databricks, built from its source, and a workspace on loopback for it.

`DATABRICKS_CLI_SOURCE` names a checkout of that source, of release 1.13 or later; Go builds it. The workspace
is the server of its acceptance tests: it stores what it receives. Of tasks it records the arguments.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.home import ROOT

SOURCE = "DATABRICKS_CLI_SOURCE"
_VERSION = "github.com/databricks/cli/internal/build.buildVersion=1.13.0"
_SERVER = Path(__file__).parent / "loopback_workspace.go"
_TASK = """#!{python}
import json, sys
with open({log!r}, "a") as log:
    print(json.dumps(sys.argv[3:]), file=log)
"""
_UV = """#!{python}
import pathlib, sys
if sys.argv[1] == "venv":
    task = pathlib.Path(sys.argv[-1], "bin", "python")
    task.parent.mkdir(parents=True)
    task.write_text({task!r})
    task.chmod(0o700)
"""
"""Takes the place of uv for the server, and makes environments whose Python records its arguments."""


def why_not() -> str | None:
    """Why it can't be built here; None if it can."""
    if shutil.which("go") is None:
        return "Go is not installed"
    return None if os.environ.get(SOURCE) else f"{SOURCE} names no source of the Databricks CLI"


def build(folder: Path) -> tuple[Path, Path]:
    """Build the command line and the server. Returns their paths."""
    source = Path(os.environ[SOURCE]).resolve()
    overlay = folder / "overlay.json"
    place = source / "internal" / "loopback" / "main.go"
    overlay.write_text(json.dumps({"Replace": {str(place): str(_SERVER)}}))
    made = folder / "databricks", folder / "workspace"
    common = ["go", "build", "-trimpath", "-overlay", str(overlay), "-ldflags", f"-X {_VERSION}", "-o"]
    for target, package in zip(made, (".", "./internal/loopback"), strict=True):
        subprocess.run([*common, str(target), package], cwd=source, check=True)
    return made


class Workspace:
    """A running workspace.

    Args:
        url: its URL.
        folder: of its logs.
        command: the command line.
    """

    def __init__(self, url: str, folder: Path, command: Path) -> None:
        self._url = url
        self._folder = folder
        self._command = command

    @property
    def requests(self) -> list[dict[str, str]]:
        """The requests that it got, but those of files: method, path and body."""
        lines = (self._folder / "requests").read_text().split("\n")
        return [json.loads(line) for line in lines[1:-1]]

    @property
    def tasks(self) -> list[list[str]]:
        """The arguments of the tasks that it was to run."""
        log = self._folder / "tasks"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def errors(self) -> str:
        """What the server reported: requests that it does not know."""
        return (self._folder / "errors").read_text()

    def run(self, checkout: Path, *arguments: str, token: str) -> "subprocess.CompletedProcess[str]":
        """Run the command line in a checkout as the owner of a token: `dbapi1…` is a service principal's."""
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DATABRICKS_")},
            "DATABRICKS_CONFIG_FILE": str(self._folder / "databrickscfg"),
            "DATABRICKS_HOST": self._url,
            "DATABRICKS_TOKEN": token,
            "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
        command = [self._command, *arguments]
        return subprocess.run(
            command, cwd=checkout, env=env, capture_output=True, text=True, check=False, timeout=300
        )


@contextmanager
def workspace(folder: Path, command: Path, server: Path) -> Iterator[Workspace]:
    """Run a workspace until the block ends."""
    uv = folder / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    task = _TASK.format(python=sys.executable, log=str(folder / "tasks"))
    uv.write_text(_UV.format(python=sys.executable, task=task))
    uv.chmod(stat.S_IRWXU)
    path = f"{uv.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "TMPDIR": str(folder)}
    with (folder / "requests").open("wb") as requests, (folder / "errors").open("wb") as errors:
        process = subprocess.Popen([server], env=env, stdin=subprocess.PIPE, stdout=requests, stderr=errors)
    try:
        while not (url := (folder / "requests").read_text().partition("\n")[0]):
            assert process.poll() is None, (folder / "errors").read_text()
        yield Workspace(url, folder, command)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)
