"""Requirements of the dashboard, from the lock: a Databricks app installs only these."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOTS = ("altair", "authlib", "databricks-sql-connector", "deltalake", "polars", "pyarrow", "streamlit")
"""Packages that dashboards/ imports, and those that its readers of tables need."""

_HEAD = "# What the page needs, from requirements.lock, by `make app-requirements`.\n"
_PIN = re.compile(r"^([\w.-]+)==")
_NEEDED_BY = re.compile(r"^\s*#(?: via)?\s+([\w.-]+)$")


def app_requirements(lock: str) -> str:
    """The part of a lock that the dashboard needs: its packages and their dependencies, with hashes."""
    blocks = list(_blocks(lock))
    wanted = set(ROOTS)
    while more := {name for name, _, parents in blocks if parents & wanted} - wanted:
        wanted |= more
    return _HEAD + "".join(block for name, block, _ in blocks if name in wanted)


def _blocks(lock: str) -> Iterator[tuple[str, str, set[str]]]:
    """By package: its name, its lines without comments, and the packages that need it."""
    for text in re.split(r"^(?=[\w.-]+==)", lock, flags=re.MULTILINE):
        if pin := _PIN.match(text):
            lines = text.splitlines(keepends=True)
            parents = {found[1] for line in lines if (found := _NEEDED_BY.match(line))}
            yield pin[1], "".join(line for line in lines if not line.lstrip().startswith("#")), parents


def main() -> None:
    """Write dashboards/requirements.txt of this checkout."""
    root = Path(__file__).resolve().parents[3]
    text = app_requirements((root / "requirements.lock").read_text(encoding="utf-8"))
    (root / "dashboards" / "requirements.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
