"""Starts a Databricks app with the wheel beside this file, which has no place among requirements with hashes.

Its arguments are those of `python -m`.
"""

import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Install the wheel, whose dependencies are those of requirements.txt, and become the program."""
    (wheel,) = Path(__file__).parent.glob("millrace-*.whl")
    # A later deployment may bring another wheel of the same version.
    install = ("pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel))
    subprocess.run([sys.executable, "-m", *install], check=True)
    os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])


if __name__ == "__main__":
    main()
