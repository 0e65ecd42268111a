"""The command line reports errors of the user in one line with a next step."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.home import Home
from millrace.local.process.ports import free_port
from millrace.operations.rebuild import definitions

FILE_CONTENTS = {"missing": None, "empty": b"", "binary": bytes(range(256)) * 64}
FILE_ERRORS = {"missing": "no such file", "empty": "is empty", "binary": "is binary"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home at whose address no broker answers."""
    return Home(tmp_path / "home", f"127.0.0.1:{free_port()}", "events")


def error_line(done: "subprocess.CompletedProcess[str]", code: int = 1) -> str:
    assert done.returncode == code
    (line,) = done.stderr.splitlines()
    assert line.startswith("millrace: ")
    assert done.stdout == ""
    return line


@pytest.mark.parametrize(
    ("call", "reported"),
    [
        ("nosuch", "No such command 'nosuch'. See `millrace --help`."),
        ("load x", "Missing option '--format'. See `millrace load --help`."),
        ("produce --events many", "Invalid value for '--events'"),
        ("explain conversion a b", "See `millrace explain conversion --help`."),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(home: Home, call: str, reported: str) -> None:
    assert reported in error_line(home.run(*call.split()), code=2)


@pytest.mark.parametrize("part", FILE_CONTENTS)
def test_unloadable_file_is_reported_in_one_line(home: Home, tmp_path: Path, part: str) -> None:
    file = tmp_path / "events.log"
    content = FILE_CONTENTS[part]
    if content is not None:
        file.write_bytes(content)
    line = error_line(home.run("load", str(file), "--format", "segment"))
    assert str(file) in line
    assert FILE_ERRORS[part] in line


def test_unknown_format_error_lists_known_formats(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "events.log"
    file.write_text("{}\n")
    line = error_line(home.run("load", str(file), "--format", "parquet"))
    assert "parquet" in line
    assert "segment" in line
    assert "access-log" in line


def test_unreachable_broker_is_reported_with_next_step(home: Home) -> None:
    line = error_line(home.run("run", "ingest", "--once"))
    assert f"no Kafka broker answers at {home.bootstrap}" in line
    assert "millrace up --broker" in line


def test_unknown_table_error_lists_tables_that_can_be_rebuilt(home: Home) -> None:
    line = error_line(home.run("rebuild", "silver.events", "silver.nothing"))
    assert "silver.nothing is not a table that can be rebuilt" in line
    for name in definitions():
        assert name in line


def no_java(folder: Path) -> None:
    """Install no Java."""


def java_11(folder: Path) -> None:
    java = folder / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.22\" 2024-01-16' >&2\n")
    java.chmod(0o755)


@pytest.mark.parametrize(("put", "reported"), [(no_java, "No Java found"), (java_11, "Java 11 found at")])
def test_missing_or_old_java_is_reported(
    home: Home, tmp_path: Path, put: Callable[[Path], None], reported: str
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    put(tools)
    line = error_line(home.run("run", "refine", "--once", PATH=str(tools), JAVA_HOME=""))
    assert reported in line
    assert "17" in line
