"""Selection of the Java executable, and errors about unusable ones."""

from pathlib import Path

import pytest

from lakehouse.errors import MillraceError
from millrace.environment.java import java_executable, java_version

DEBIAN_17 = (
    'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)'
)


def fake_java(folder: Path, output: str) -> Path:
    """A `java` that reports a version on standard error, as Java does."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{output}\nEND\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine without Java, but with what a shell script needs."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "cat").symlink_to("/bin/cat")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tools))
    return monkeypatch


@pytest.mark.parametrize("version", [17, 21])
def test_java_17_and_21_are_accepted(no_java: pytest.MonkeyPatch, tmp_path: Path, version: int) -> None:
    java = fake_java(tmp_path, f'openjdk version "{version}.0.2" 2024-01-16')
    no_java.setenv("JAVA_HOME", str(tmp_path))
    assert java_executable() == java


def test_java_home_precedes_path(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "path", 'openjdk version "11.0.1" 2018-10-16')
    at_home = fake_java(tmp_path / "home", DEBIAN_17)
    no_java.setenv("PATH", str(on_path.parent), prepend=":")
    no_java.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java_executable() == at_home


def test_java_is_searched_on_path_without_java_home(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = fake_java(tmp_path, DEBIAN_17)
    no_java.setenv("PATH", str(java.parent), prepend=":")
    assert java_executable() == java


def test_missing_java_error_names_package_to_install(no_java: pytest.MonkeyPatch) -> None:
    with pytest.raises(MillraceError, match=r"^No Java found.*openjdk-17-jre-headless"):
        java_executable()


@pytest.mark.parametrize(
    ("output", "version"), [("11.0.22", 11), ("1.8.0_392", 8), ("25", 25), ("18-ea", 18)]
)
def test_unsupported_java_version_is_rejected_with_its_path(
    no_java: pytest.MonkeyPatch, tmp_path: Path, output: str, version: int
) -> None:
    java = fake_java(tmp_path, f'openjdk version "{output}" 2024-01-16')
    no_java.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MillraceError, match=f"^Java {version} found at {java}, needs 17 or 21"):
        java_executable()


@pytest.mark.parametrize("output", ["", "no such thing", "version 17"])
def test_executable_without_java_version_is_rejected(
    no_java: pytest.MonkeyPatch, tmp_path: Path, output: str
) -> None:
    java = fake_java(tmp_path, output)
    no_java.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MillraceError, match=f"^{java} does not tell its version"):
        java_executable()


def test_java_home_without_java_is_rejected(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_java.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MillraceError, match=f"JAVA_HOME is {tmp_path}, which has no bin/java"):
        java_executable()


def test_missing_executable_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "absent") is None


def test_java_tool_options_message_does_not_hide_version(tmp_path: Path) -> None:
    java = fake_java(tmp_path, f"Picked up JAVA_TOOL_OPTIONS: -Dx=1\n{DEBIAN_17}")
    assert java_version(java) == 17
