"""A PostgreSQL of this machine's installation, with its data in the home, for the sample shop."""

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from lakehouse.errors import MillraceError

_USER = "millrace"
_SECONDS = 30.0
_SERVICE_USERS = ("postgres", "nobody")
"""PostgreSQL refuses to run as root: then it runs as one of these."""


def programs() -> Path | None:
    """The folder of `initdb` and `postgres`; None if PostgreSQL is not installed."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: int(each.parent.name))
    on_path = shutil.which("initdb")
    found = [*debian, *([Path(on_path).resolve().parent] if on_path else [])]
    return next((each for each in reversed(found) if (each / "postgres").exists()), None)


def connection_string(port: int) -> str:
    """How to connect to the server."""
    return f"host=127.0.0.1 port={port} user={_USER} dbname=postgres"


@contextmanager
def running_postgres(home: Path, port: int) -> Iterator[None]:
    """Run a server during the block; its data is kept.

    Raises:
        MillraceError: if it does not start.
    """
    bin_folder = programs()
    if bin_folder is None:
        raise MillraceError(
            "PostgreSQL is not installed", "Install it (Debian, Ubuntu: apt-get install postgresql)"
        )
    folder = _created_folder(home)

    if not (folder / "data" / "PG_VERSION").exists():
        _initialise(bin_folder, folder)
    settings = (
        *("wal_level=logical", "listen_addresses=127.0.0.1", "log_min_messages=fatal"),
        f"unix_socket_directories={folder}",
    )
    given = [part for each in settings for part in ("-c", each)]
    command = [str(bin_folder / "postgres"), "-D", str(folder / "data"), "-p", str(port), *given]
    server = subprocess.Popen(_as_user(command), cwd=folder)
    try:
        _wait_until_ready(server, port)
        yield
    finally:
        server.send_signal(signal.SIGINT)  # do not wait for clients
        server.wait(_SECONDS)


def data_folder(home: Path) -> Path:
    """The folder of the data: in the home, or where another user may enter if this one is root."""
    if os.geteuid():
        return home / "shop"
    name = hashlib.sha256(str(home).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"millrace-shop-{name}"


def _created_folder(home: Path) -> Path:
    folder = data_folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    if (user := _service_user()) is not None:
        shutil.chown(folder, user)
    return folder


def _initialise(bin_folder: Path, folder: Path) -> None:
    shutil.rmtree(folder / "data", ignore_errors=True)  # left by an attempt that was interrupted
    options = (f"--username={_USER}", "--auth=trust", "--encoding=UTF8", "--locale=C")
    command = [str(bin_folder / "initdb"), "-D", str(folder / "data"), *options]
    done = subprocess.run(_as_user(command), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MillraceError(
            f"initdb failed: {' '.join(done.stderr.split())[-200:]}", "Is the disk full? Try again"
        )


def _wait_until_ready(server: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and server.poll() is None:
        if _answers(port):
            return
        time.sleep(0.1)
    raise MillraceError("PostgreSQL of the sample shop does not start", "See logs/shop.log in the home")


def _answers(port: int) -> bool:
    try:
        with psycopg.connect(connection_string(port), connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False


def _service_user() -> str | None:
    """Whom the server runs as, if this is root."""
    if os.geteuid():
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return next((name for name in _SERVICE_USERS if name in known), None)


def _as_user(command: Sequence[str]) -> list[str]:
    user = _service_user()
    if user is None:
        return list(command)
    number = pwd.getpwnam(user).pw_uid
    return ["setpriv", f"--reuid={number}", "--clear-groups", "--", *command]
