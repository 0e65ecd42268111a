"""Writes the requirements of the Databricks apps, a subset of the lock file."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOTS = {
    # Imports of dashboards/, of its table readers, and of the wheel's contracts and rules.
    "dashboards": (
        *(
            "altair",
            "authlib",
            "databricks-sdk",
            "databricks-sql-connector",
            "deltalake",
            "msgspec",
            "polars",
            "pyarrow",
        ),
        *("pydantic", "pyyaml", "streamlit"),
    ),
    # Imports of `millrace collect`, and the SDK that reads Kafka's login from a secret scope.
    "collector": (
        *("confluent-kafka", "databricks-sdk", "httpx", "httpx-sse", "idna", "kafka-python", "lz4"),
        *("msgspec", "psutil", "publicsuffixlist", "pydantic", "pydantic-settings", "pyyaml", "rich"),
        *("starlette", "typer", "uvicorn", "websockets", "xxhash", "zstandard"),
    ),
    # Imports of `millrace serve` over a catalog.
    "api": (
        *("databricks-sdk", "databricks-sql-connector", "deltalake", "duckdb", "filelock", "httpx"),
        *("msgspec", "psutil"),
        *("pyarrow", "pydantic", "pydantic-settings", "pyyaml", "rich", "starlette", "typer", "uvicorn"),
        *("sse-starlette", "websockets", "zstandard"),
    ),
}
"""The packages that an app imports, by its folder."""

_HEAD = "# What the app needs, from requirements.lock, by `make app-requirements`.\n"
_PIN = re.compile(r"^([\w.-]+)==")
_NEEDED_BY = re.compile(r"^\s*#(?: via)?\s+([\w.-]+)$")


def app_requirements(lock: str, app: str) -> str:
    """The part of a lock file that an app needs: its packages and their dependencies, with hashes."""
    blocks = list(_blocks(lock))
    wanted = set(ROOTS[app])
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
    """Write the requirements.txt of each app of this checkout."""
    root = Path(__file__).resolve().parents[3]
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    for app in ROOTS:
        (root / app / "requirements.txt").write_text(app_requirements(lock, app), encoding="utf-8")


if __name__ == "__main__":
    main()
