"""No jar is used that is not the one of the lock."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse.errors import MillraceError
from millrace.environment import ivy, jar_check, jars
from millrace.environment.jar_lock import LockedJar, cache_folder, read_lock, sha256_of, write_lock

SMALLEST = 3
SRC = str(Path(jars.__file__).parents[2])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LockedJar]:
    """A cache of its own that holds the smallest jars of the real one."""
    chosen = sorted(read_lock(), key=lambda jar: jar.size)[:SMALLEST]
    real = [jar.path for jar in chosen]
    monkeypatch.setenv("MILLRACE_CACHE", str(tmp_path / "cache"))
    for jar, source in zip(chosen, real, strict=True):
        jar.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, jar.path)
    monkeypatch.setattr(jars, "read_lock", lambda: chosen)
    return chosen


@pytest.fixture
def mirror(few: list[LockedJar], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A registry on disk that has these jars, so that fetching needs no network."""
    for jar in few:
        place = tmp_path / "mirror" / jar.organisation.replace(".", "/") / jar.name / jar.revision
        place.mkdir(parents=True)
        shutil.copy(jar.path, place)
    monkeypatch.setenv(
        "MILLRACE_IVY_SETTINGS", str(ivy_settings(tmp_path, f"{(tmp_path / 'mirror').as_uri()}/"))
    )


def ivy_settings(folder: Path, root: str) -> Path:
    """Settings by which Ivy asks one registry and no other."""
    file = folder / "settings.xml"
    file.write_text(
        '<ivysettings><settings defaultResolver="mirror"/><property name="ivy.checksums" value=""/>'
        f'<resolvers><ibiblio name="mirror" m2compatible="true" usepoms="false" root="{root}"/>'
        "</resolvers></ivysettings>"
    )
    return file


def test_the_right_jars_pass_and_are_listed(few: list[LockedJar]) -> None:
    jars.ensure_jars()
    assert {*jars.spark_jars(), *jars.broker_jars()} == {jar.path for jar in few}


def test_a_changed_jar_is_named_and_not_used(few: list[LockedJar]) -> None:
    jars.ensure_jars()
    with few[0].path.open("r+b") as content:
        content.write(b"X")
    with pytest.raises(
        MillraceError, match=rf"{few[0].file_name} has a wrong checksum.*Delete it.*make setup"
    ):
        _all_jars()


def test_a_change_that_keeps_size_and_time_is_seen(few: list[LockedJar]) -> None:
    jars.ensure_jars()
    before = few[0].path.stat()
    with few[0].path.open("r+b") as content:
        content.write(b"X")
    os.utime(few[0].path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(MillraceError, match="wrong checksum"):
        _all_jars()


def test_a_cut_off_jar_is_seen(few: list[LockedJar]) -> None:
    os.truncate(few[0].path, few[0].size // 2)
    with pytest.raises(MillraceError, match="wrong checksum"):
        jars.ensure_jars()


def test_a_missing_jar_is_named(few: list[LockedJar]) -> None:
    few[0].path.unlink()
    with pytest.raises(MillraceError, match=rf"1 of \d.*{few[0].file_name}.*Run `make setup`"):
        jar_check.check(few)


def test_jars_are_read_once(few: list[LockedJar], monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(jar_check, "sha256_of", lambda file: read.append(file) or sha256_of(file))
    jars.ensure_jars()
    jars.ensure_jars()
    assert sorted(read) == sorted(jar.path for jar in few)


def test_a_changed_lock_is_held_against_old_checks(few: list[LockedJar]) -> None:
    jars.ensure_jars()
    first = few[0]
    few[0] = LockedJar(first.role, "0" * 64, first.size, first.organisation, first.name, first.revision)
    with pytest.raises(MillraceError, match="wrong checksum"):
        jars.ensure_jars()


def test_a_broken_memory_of_checks_only_costs_time(few: list[LockedJar]) -> None:
    (cache_folder() / "checked.json").write_text("{half")
    jars.ensure_jars()


def test_a_missing_jar_is_fetched_by_itself(few: list[LockedJar], mirror: None) -> None:
    few[0].path.unlink()
    (cache_folder() / "incoming-of-a-killed-process").mkdir()
    reported: list[tuple[str, int, int]] = []
    jars.ensure_jars(lambda *progress: reported.append(progress))
    assert sha256_of(few[0].path) == few[0].sha256
    assert reported[-1][1:] == (few[0].size, few[0].size)
    assert list(cache_folder().glob("incoming-*")) == []
    assert not (cache_folder() / "downloads").exists()


def test_a_jar_that_arrives_wrong_does_not_enter(few: list[LockedJar], mirror: None) -> None:
    jar = few[0]
    jar.path.unlink()
    few[0] = LockedJar(jar.role, "0" * 64, jar.size, jar.organisation, jar.name, jar.revision)
    with pytest.raises(MillraceError, match=rf"{jar.file_name} was fetched with a wrong checksum"):
        jars.ensure_jars()
    assert not jar.path.exists()


def test_two_processes_at_once_fetch_once(few: list[LockedJar], mirror: None) -> None:
    for jar in few:
        jar.path.unlink()
    names = [jar.file_name for jar in few]
    code = (
        "from millrace.environment import jars, jar_lock; import sys;"
        f"chosen = [jar for jar in jar_lock.read_lock() if jar.file_name in {names}];"
        "jars.read_lock = lambda: chosen; jars.ensure_jars();"
        "sys.exit(0 if jars.spark_jars() + jars.broker_jars() else 1)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": SRC}) for _ in range(2)
    ]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    jars.ensure_jars()


def test_no_network_is_one_line_with_a_next_step(
    few: list[LockedJar], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: every connection is refused
        settings = ivy_settings(tmp_path, f"http://127.0.0.1:{closed.getsockname()[1]}/")
        monkeypatch.setenv("MILLRACE_IVY_SETTINGS", str(settings))
        few[0].path.unlink()
        with pytest.raises(MillraceError, match=r"^Fetching jars failed: .*make setup.*ivy\.log") as caught:
            jars.ensure_jars()
    assert "\n" not in str(caught.value)


def test_the_lock_reads_as_it_was_written(tmp_path: Path) -> None:
    write_lock(reversed(read_lock()), tmp_path / "lock")
    assert read_lock(tmp_path / "lock") == read_lock()


def test_the_lock_has_what_ivy_xml_asks_for() -> None:
    asked = ivy.ET.parse(ivy.RESOLVE_FILE).iter("dependency")
    wanted = {
        (one.get("conf").split("->")[0], one.get("org"), one.get("name"), one.get("rev")) for one in asked
    }
    assert wanted <= {(jar.role, jar.organisation, jar.name, jar.revision) for jar in read_lock()}


def _all_jars() -> None:
    jars.spark_jars()
    jars.broker_jars()
