"""The socket of command requests: one message with the command, then messages with the reply, as JSON.

`run/commands.json` in the home, readable only by its owner, has the socket's path and the key with which both
ends authenticate. The socket is in a private temporary folder, since the kernel limits the path's length.
"""

import json
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory, gettempdir

from millrace.local.process.state_files import write_state

_STATE_FILE = Path("run", "commands.json")
_POLL_SECONDS = 0.5
_MAX_FOLDER_BYTES = 75
"""Maximum bytes of the temporary folder's path: a socket's path has at most 103 bytes (macOS)."""

_Request = tuple[Connection, bytes]


def accept_requests(home: Path, stop: threading.Event) -> Iterator[_Request]:
    """Accept requests of this user. Yields the connection to the command and its message.

    Args:
        home: the folder of all local state.
        stop: event that ends it.

    Raises:
        OSError: if the socket can't be created.
    """
    _remove_stale(home)
    place = None if len(os.fsencode(gettempdir())) <= _MAX_FOLDER_BYTES else "/tmp"
    key, requests = secrets.token_bytes(32), SimpleQueue[_Request]()
    with (
        TemporaryDirectory(prefix="millrace-", dir=place) as folder,
        Listener(f"{folder}/socket", "AF_UNIX") as listener,
    ):
        state = {"home": str(home), "socket": listener.address, "key": key.hex()}
        write_state(home / _STATE_FILE, state, mode=0o600)
        threading.Thread(target=_accept, args=(listener, key, requests, stop), daemon=True).start()
        while not stop.is_set():
            with suppress(Empty):
                yield requests.get(timeout=_POLL_SECONDS)
        Client(listener.address, "AF_UNIX").close()  # wakes the thread


def connect(home: Path) -> Connection:
    """Connect to the engine of a home.

    Raises:
        FileNotFoundError, ConnectionError, EOFError: if no engine accepts requests.
    """
    state = _read_state(home)
    return Client(state["socket"], "AF_UNIX", bytes.fromhex(state["key"]))


def _accept(listener: Listener, key: bytes, requests: SimpleQueue[_Request], stop: threading.Event) -> None:
    while not stop.is_set():
        with suppress(OSError):
            arguments = (listener.accept(), key, requests)
            threading.Thread(target=_authenticate, args=arguments, daemon=True).start()


def _authenticate(connection: Connection, key: bytes, requests: SimpleQueue[_Request]) -> None:
    """Check that both ends have the key, beside other requests: a client may stop in the middle."""
    with suppress(AuthenticationError, OSError, EOFError):
        deliver_challenge(connection, key)
        answer_challenge(connection, key)
        requests.put((connection, connection.recv_bytes()))


def _remove_stale(home: Path) -> None:
    """Remove the socket of an engine that was killed."""
    with suppress(OSError, ValueError):
        socket = Path(_read_state(home)["socket"])
        socket.unlink()
        socket.parent.rmdir()


def _read_state(home: Path) -> dict[str, str]:
    state: dict[str, str] = json.loads((home / _STATE_FILE).read_bytes())
    if not home.samefile(state["home"]):
        raise FileNotFoundError(f"{home} is a copy of {state['home']}, whose engine this is")
    return state
