"""Serves the dashboard with a real `streamlit run` process."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.dashboards_folder import DASHBOARDS
from kit.polling import eventually
from millrace.local.process.ports import stable_port

_DEADLINE = 40  # seconds


@contextmanager
def served(
    home: Path, folder: Path = DASHBOARDS, python: str = sys.executable, port: int | None = None, **env: str
) -> Iterator[str]:
    """Serve a dashboard folder with the tables of a home until the block ends. Yields the URL."""
    port = port or stable_port()
    options = {"server.headless": "true", "server.port": str(port)}
    flags = (part for name, value in options.items() for part in (f"--{name}", value))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    with (home / "streamlit.log").open("wb") as log:
        process = subprocess.Popen(
            [python, "-m", "streamlit", "run", "app.py", *flags],
            cwd=folder,
            env={**environment, "MILLRACE_HOME": str(home), **env},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            health = f"http://127.0.0.1:{port}/_stcore/health"
            eventually(lambda: process.poll() is not None or answers(health), _DEADLINE, "Streamlit is up")
            assert process.poll() is None, (home / "streamlit.log").read_text()
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def answers(url: str) -> bool:
    """Whether a server answers at a URL."""
    try:
        with urllib.request.urlopen(url, timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False
