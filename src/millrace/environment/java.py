"""Finds Java: Spark and Kafka need version 17 or 21.

Uses only the standard library: `scripts/setup` runs it before the environment exists.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from lakehouse.errors import MillraceError

WANTED = (17, 21)
_INSTALL = (
    "Install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17),"
    " or point JAVA_HOME at one"
)
_ANSWER_SECONDS = 30


def java_executable() -> Path:
    """Path of the Java to run: from JAVA_HOME, else from PATH.

    Raises:
        MillraceError: if there is none, or its version is not 17 or 21.
    """
    found = find_java()
    version = java_version(found)
    wanted = " or ".join(str(number) for number in WANTED)
    if version is None:
        raise MillraceError(f"{found} does not tell its version as Java does, {wanted} is needed", _INSTALL)
    if version not in WANTED:
        raise MillraceError(f"Java {version} found at {found}, needs {wanted}", _INSTALL)
    return found


def find_java() -> Path:
    """Path of the Java from JAVA_HOME, else from PATH, in any version.

    Raises:
        MillraceError: if there is none, or JAVA_HOME has none.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        if not os.access(candidate, os.X_OK):
            raise MillraceError(
                f"No Java found: JAVA_HOME is {home}, which has no bin/java", "Correct JAVA_HOME or unset it"
            )
        return candidate
    on_path = shutil.which("java")
    if on_path is None:
        raise MillraceError("No Java found, needs 17 or 21", _INSTALL)
    return Path(on_path)


def java_version(executable: Path) -> int | None:
    """The feature version (8, 11, 17, …) that a Java reports; None if it reports none."""
    try:
        answer = subprocess.run(
            [str(executable), "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if match is None:
        return None
    major = int(match[1])
    return int(match[2] or 0) if major == 1 else major  # "1.8.0_392" is Java 8


def main() -> None:
    """Print in one line what is wrong with Java, if anything."""
    try:
        java_executable()
    except MillraceError as error:
        sys.exit(f"setup: {error}")


if __name__ == "__main__":
    main()
