"""Starts the collector in a Databricks app, from the wheel that was uploaded beside this file."""

import os
import subprocess
import sys
from pathlib import Path

_PORT = os.environ.get("DATABRICKS_APP_PORT", "8000")
_ARGUMENTS = ("collect", "--address", "0.0.0.0", "--port", _PORT, "--acknowledge", "kafka")


def main() -> None:
    """Install the wheel, whose dependencies are those of requirements.txt, and become the collector."""
    (wheel,) = Path(__file__).parent.glob("millrace-*.whl")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], check=True)
    os.execv(sys.executable, [sys.executable, "-m", "millrace", *_ARGUMENTS])


if __name__ == "__main__":
    main()
