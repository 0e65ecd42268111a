"""Runs a benchmark's server in a separate process."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ATTEMPTS, _PAUSE = 300, 0.1


@contextmanager
def server_process(port: int, log: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run Python during the block, which starts once the process answers on the port.

    Args:
        port: port on 127.0.0.1.
        log: file to which its output is appended.
        arguments: arguments of the interpreter.
    """
    with log.open("ab") as output:
        process = subprocess.Popen((sys.executable, *arguments), stdout=output, stderr=output)
        try:
            _wait_for(port)
            yield process
        finally:
            process.kill()
            process.wait()


def _wait_for(port: int) -> None:
    for _ in range(_ATTEMPTS):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(_PAUSE)
    raise RuntimeError(f"nothing answers at port {port}")
