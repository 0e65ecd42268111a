"""Each acknowledgement comes after the synchronisation with the disk that covers its request."""

import http.client
import json
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.collecting import Node
from kit.home import Home
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.long

CLIENTS, REQUESTS = 4, 250
TRACED = "recvfrom,read,sendto,write,writev,sendmsg,fsync,fdatasync"
STRACE = shutil.which("strace")
RESUMED = re.compile(r"^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$")
CALL = re.compile(r"^(\d+)\s+(\w+)\((\d+)<([^>]*)>(.*)$")


def send(port: int, number: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for request in range(REQUESTS):
        event = {"type": "track", "event": "A", "userId": "u", "messageId": f"{number}-{request}"}
        connection.request("POST", "/v1/track", json.dumps(event))
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


def acknowledgements(trace: Path) -> tuple[int, list[str]]:
    """Number of answers with 200, and those with no whole fdatasync of the log since their request."""
    begun: dict[str, int] = {}  # by process: line of an fdatasync of the log that runs
    synchronised: list[tuple[int, int]] = []  # lines of begin and end
    reading: dict[str, str] = {}  # by process: the descriptor that it reads
    received: dict[str, int] = {}  # by socket: line of its last request
    count, wrong = 0, []
    for number, line in enumerate(trace.read_text(errors="replace").splitlines()):
        if resumed := RESUMED.match(line):
            process, name, rest = resumed.groups()
            if name in ("fsync", "fdatasync") and process in begun and "= 0" in rest:
                synchronised.append((begun.pop(process), number))
            elif name in ("recvfrom", "read") and "POST /v1/track" in rest:
                received[reading[process]] = number
            continue
        call = CALL.match(line)
        if call is None:
            continue
        process, name, descriptor, place, rest = call.groups()
        if name in ("fsync", "fdatasync") and place.endswith("messages.db-wal"):
            begun[process] = number
            if "= 0" in rest:
                synchronised.append((begun.pop(process), number))
        elif name in ("recvfrom", "read"):
            reading[process] = descriptor
            if "POST /v1/track" in rest:
                received[descriptor] = number
        elif "HTTP/1.1 200" in rest and descriptor in received:
            count += 1
            since = received.pop(descriptor)
            if not any(since < begin and end < number for begin, end in reversed(synchronised[-50:])):
                wrong.append(line)
    return count, wrong


@pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")
def test_each_acknowledgement_follows_its_synchronisation(
    new_home: Callable[..., Home], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    options = ("-f", "-y", "-s", "40", "-e", f"trace={TRACED}", "-o", str(trace))
    node = Node(new_home(), stable_port(), prefix=(str(STRACE), *options))
    try:
        node.start()
        clients = [threading.Thread(target=send, args=(node.port, number)) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    finally:
        node.kill()
    count, wrong = acknowledgements(trace)
    assert count == CLIENTS * REQUESTS
    assert wrong == []
