"""The collector acknowledges a request only after an fsync that covers it."""

import http.client
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kit.collecting import Node
from kit.home import Home
from kit.programs import required
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.long

CLIENTS, REQUESTS = 4, 250
TRACED = "recvfrom,read,sendto,write,writev,sendmsg,fsync,fdatasync"
FSYNC_CALLS, READ_CALLS = ("fsync", "fdatasync"), ("recvfrom", "read")
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


@dataclass
class Trace:
    """Follows the system calls of a process by line number.

    Attributes:
        count: answers with status 200.
        wrong: answers without a complete fsync of the log since their request.
    """

    count: int = 0
    wrong: list[str] = field(default_factory=list)
    _fsync_started: dict[str, int] = field(default_factory=dict)
    _fsyncs: list[tuple[int, int]] = field(default_factory=list)
    _reading: dict[str, str] = field(default_factory=dict)
    _received: dict[str, int] = field(default_factory=dict)

    def follow(self, number: int, line: str) -> None:
        if resumed := RESUMED.match(line):
            process, name, rest = resumed.groups()
            self._call_ended(number, process, name, rest, self._reading.get(process, ""))
        elif call := CALL.match(line):
            process, name, descriptor, place, rest = call.groups()
            if name in FSYNC_CALLS and place.endswith("messages.db-wal"):
                self._fsync_started[process] = number
            if name in READ_CALLS:
                self._reading[process] = descriptor
            self._call_ended(number, process, name, rest, descriptor)
            if "HTTP/1.1 200" in rest and descriptor in self._received:
                self._acknowledged(number, line, self._received.pop(descriptor))

    def _call_ended(self, number: int, process: str, name: str, rest: str, descriptor: str) -> None:
        if name in FSYNC_CALLS and process in self._fsync_started and "= 0" in rest:
            self._fsyncs.append((self._fsync_started.pop(process), number))
        if name in READ_CALLS and "POST /v1/track" in rest:
            self._received[descriptor] = number

    def _acknowledged(self, number: int, line: str, received: int) -> None:
        self.count += 1
        if not any(received < begin and end < number for begin, end in self._fsyncs[-50:]):
            self.wrong.append(line)


def test_each_acknowledgement_follows_an_fsync_of_its_request(
    new_home: Callable[..., Home], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    options = ("-f", "-y", "-s", "40", "-e", f"trace={TRACED}", "-o", str(trace))
    node = Node(new_home(), stable_port(), prefix=(required("strace"), *options))
    try:
        node.start()
        clients = [threading.Thread(target=send, args=(node.port, number)) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    finally:
        node.kill()
    followed = Trace()
    for number, line in enumerate(trace.read_text(errors="replace").splitlines()):
        followed.follow(number, line)
    assert followed.count == CLIENTS * REQUESTS
    assert followed.wrong == []
