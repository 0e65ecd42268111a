"""Only jars with the checksum in the lock are used."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from lakehouse.errors import MillraceError
from millrace.environment import ivy, jar_check, jars
from millrace.environment.jar_lock import LockedJar, cache_folder, read_lock, sha256_of, write_lock

JAR_COUNT = 3
SRC = str(Path(jars.__file__).parents[2])


@pytest.fixture
def locked_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LockedJar]:
    """A separate cache with the smallest jars of the real one."""
    chosen = sorted(read_lock(), key=lambda jar: jar.size)[:JAR_COUNT]
    real = [jar.path for jar in chosen]
    monkeypatch.setenv("MILLRACE_CACHE", str(tmp_path / "cache"))
    for jar, source in zip(chosen, real, strict=True):
        jar.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, jar.path)
    monkeypatch.setattr(jars, "read_lock", lambda: chosen)
    return chosen


@pytest.fixture
def mirror(locked_jars: list[LockedJar], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A registry on disk with these jars, so that fetching needs no network."""
    for jar in locked_jars:
        place = tmp_path / "mirror" / jar.organisation.replace(".", "/") / jar.name / jar.revision
        place.mkdir(parents=True)
        shutil.copy(jar.path, place)
    monkeypatch.setenv(
        "MILLRACE_IVY_SETTINGS", str(ivy_settings(tmp_path, f"{(tmp_path / 'mirror').as_uri()}/"))
    )


def ivy_settings(folder: Path, root: str) -> Path:
    """Ivy settings with a single registry."""
    file = folder / "settings.xml"
    file.write_text(
        '<ivysettings><settings defaultResolver="mirror"/><property name="ivy.checksums" value=""/>'
        f'<resolvers><ibiblio name="mirror" m2compatible="true" usepoms="false" root="{root}"/>'
        "</resolvers></ivysettings>"
    )
    return file


def test_jars_with_locked_checksums_are_listed(locked_jars: list[LockedJar]) -> None:
    jars.ensure_jars()
    assert {*jars.spark_jars(), *jars.broker_jars()} == {jar.path for jar in locked_jars}


def test_altered_jar_is_rejected_by_name(locked_jars: list[LockedJar]) -> None:
    jars.ensure_jars()
    with locked_jars[0].path.open("r+b") as content:
        content.write(b"X")
    with pytest.raises(
        MillraceError, match=rf"{locked_jars[0].file_name} has a wrong checksum.*Delete it.*make setup"
    ):
        _all_jars()


def test_altered_jar_with_same_size_and_mtime_is_rejected(locked_jars: list[LockedJar]) -> None:
    jars.ensure_jars()
    before = locked_jars[0].path.stat()
    with locked_jars[0].path.open("r+b") as content:
        content.write(b"X")
    os.utime(locked_jars[0].path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(MillraceError, match="wrong checksum"):
        _all_jars()


def test_truncated_jar_is_rejected(locked_jars: list[LockedJar]) -> None:
    os.truncate(locked_jars[0].path, locked_jars[0].size // 2)
    with pytest.raises(MillraceError, match="wrong checksum"):
        jars.ensure_jars()


def test_missing_jar_is_named_in_error(locked_jars: list[LockedJar]) -> None:
    locked_jars[0].path.unlink()
    with pytest.raises(MillraceError, match=rf"1 of \d.*{locked_jars[0].file_name}.*Run `make setup`"):
        jar_check.check(locked_jars)


def test_checksum_of_jar_is_computed_once(
    locked_jars: list[LockedJar], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    monkeypatch.setattr(jar_check, "sha256_of", lambda file: read.append(file) or sha256_of(file))
    jars.ensure_jars()
    jars.ensure_jars()
    assert sorted(read) == sorted(jar.path for jar in locked_jars)


def test_jar_is_checked_again_after_lock_changes(locked_jars: list[LockedJar]) -> None:
    jars.ensure_jars()
    first = locked_jars[0]
    locked_jars[0] = LockedJar(
        first.role, "0" * 64, first.size, first.organisation, first.name, first.revision
    )
    with pytest.raises(MillraceError, match="wrong checksum"):
        jars.ensure_jars()


def test_corrupt_cache_of_checksums_is_ignored(locked_jars: list[LockedJar]) -> None:
    (cache_folder() / "checked.json").write_text("{half")
    jars.ensure_jars()


def test_missing_jar_is_fetched_automatically(locked_jars: list[LockedJar], mirror: None) -> None:
    locked_jars[0].path.unlink()
    (cache_folder() / "incoming-of-a-killed-process").mkdir()
    reported: list[tuple[str, int, int]] = []
    jars.ensure_jars(lambda *progress: reported.append(progress))
    assert sha256_of(locked_jars[0].path) == locked_jars[0].sha256
    assert reported[-1][1:] == (locked_jars[0].size, locked_jars[0].size)
    assert list(cache_folder().glob("incoming-*")) == []
    assert not (cache_folder() / "downloads").exists()


def test_fetched_jar_with_wrong_checksum_is_discarded(locked_jars: list[LockedJar], mirror: None) -> None:
    jar = locked_jars[0]
    jar.path.unlink()
    locked_jars[0] = LockedJar(jar.role, "0" * 64, jar.size, jar.organisation, jar.name, jar.revision)
    with pytest.raises(MillraceError, match=rf"{jar.file_name} was fetched with a wrong checksum"):
        jars.ensure_jars()
    assert not jar.path.exists()


def test_jars_missing_in_two_processes_are_fetched_once(locked_jars: list[LockedJar], mirror: None) -> None:
    for jar in locked_jars:
        jar.path.unlink()
    names = [jar.file_name for jar in locked_jars]
    code = (
        "from millrace.environment import jars, jar_lock; import sys;"
        f"chosen = [jar for jar in jar_lock.read_lock() if jar.file_name in {names}];"
        "lock, fetch = jars.FileLock, jars._fetch; jars.read_lock = lambda: chosen;"
        "jars.FileLock = lambda file: print('waits', flush=True) or lock(file);"
        "jars._fetch = lambda *given: print('fetches') or fetch(*given);"
        "jars.ensure_jars();"
        "sys.exit(0 if jars.spark_jars() + jars.broker_jars() else 1)"
    )
    env = os.environ | {"PYTHONPATH": SRC}
    with FileLock(cache_folder() / ".lock"):  # until both have found the jars missing
        both = [
            subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        assert [process.stdout.readline() for process in both if process.stdout] == ["waits\n"] * 2
    assert sorted(process.communicate(timeout=60)[0] for process in both) == ["", "fetches\n"]
    assert [process.returncode for process in both] == [0, 0]
    jars.ensure_jars()


def test_failed_fetch_is_one_line_error_with_next_step(
    locked_jars: list[LockedJar], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: every connection is refused
        settings = ivy_settings(tmp_path, f"http://127.0.0.1:{closed.getsockname()[1]}/")
        monkeypatch.setenv("MILLRACE_IVY_SETTINGS", str(settings))
        locked_jars[0].path.unlink()
        with pytest.raises(MillraceError, match=r"^Fetching jars failed: .*make setup.*ivy\.log") as caught:
            jars.ensure_jars()
    assert "\n" not in str(caught.value)


def test_jar_lock_round_trips(tmp_path: Path) -> None:
    write_lock(reversed(read_lock()), tmp_path / "lock")
    assert read_lock(tmp_path / "lock") == read_lock()


def test_jar_lock_contains_dependencies_of_ivy_xml() -> None:
    asked = ivy.ET.parse(ivy.RESOLVE_FILE).iter("dependency")
    wanted = {
        (one.get("conf").split("->")[0], one.get("org"), one.get("name"), one.get("rev")) for one in asked
    }
    assert wanted <= {(jar.role, jar.organisation, jar.name, jar.revision) for jar in read_lock()}


def _all_jars() -> None:
    jars.spark_jars()
    jars.broker_jars()
