"""Which Java is taken, and what is said about one that won't do."""

from pathlib import Path

import pytest

from lakehouse.errors import MillraceError
from millrace.environment.java import java_executable, java_version

DEBIAN_17 = (
    'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)'
)


def fake_java(folder: Path, says: str) -> Path:
    """A `java` that reports a version on standard error, as Java does."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\n")
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
def test_java_17_and_21_are_taken(no_java: pytest.MonkeyPatch, tmp_path: Path, version: int) -> None:
    java = fake_java(tmp_path, f'openjdk version "{version}.0.2" 2024-01-16')
    no_java.setenv("JAVA_HOME", str(tmp_path))
    assert java_executable() == java


def test_java_home_goes_before_the_path(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "path", 'openjdk version "11.0.1" 2018-10-16')
    at_home = fake_java(tmp_path / "home", DEBIAN_17)
    no_java.setenv("PATH", str(on_path.parent), prepend=":")
    no_java.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java_executable() == at_home


def test_without_java_home_the_path_is_searched(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = fake_java(tmp_path, DEBIAN_17)
    no_java.setenv("PATH", str(java.parent), prepend=":")
    assert java_executable() == java


def test_no_java_says_what_to_install(no_java: pytest.MonkeyPatch) -> None:
    with pytest.raises(MillraceError, match=r"^No Java found.*openjdk-17-jre-headless"):
        java_executable()


@pytest.mark.parametrize(("says", "version"), [("11.0.22", 11), ("1.8.0_392", 8), ("25", 25), ("18-ea", 18)])
def test_another_version_is_named_with_its_place(
    no_java: pytest.MonkeyPatch, tmp_path: Path, says: str, version: int
) -> None:
    java = fake_java(tmp_path, f'openjdk version "{says}" 2024-01-16')
    no_java.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MillraceError, match=f"^Java {version} found at {java}, needs 17 or 21"):
        java_executable()


@pytest.mark.parametrize("says", ["", "no such thing", "version 17"])
def test_what_answers_otherwise_is_no_java(no_java: pytest.MonkeyPatch, tmp_path: Path, says: str) -> None:
    java = fake_java(tmp_path, says)
    no_java.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MillraceError, match=f"^{java} does not tell its version"):
        java_executable()


def test_a_java_home_without_java_is_named(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_java.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MillraceError, match=f"JAVA_HOME is {tmp_path}, which has no bin/java"):
        java_executable()


def test_what_can_not_be_run_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "absent") is None


def test_a_message_of_the_java_options_does_not_hide_the_version(tmp_path: Path) -> None:
    java = fake_java(tmp_path, f"Picked up JAVA_TOOL_OPTIONS: -Dx=1\n{DEBIAN_17}")
    assert java_version(java) == 17
