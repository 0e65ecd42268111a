"""A webhook receiver that folds accepted deliveries, and can be scripted to fail."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from intake.webhooks.signatures import Scheme, check_signature, signing_key
from kit.http_server import Request, serving
from kit.message_fold import MessageFold


class Behaviour(Enum):
    """How a receiver responds to a request."""

    TAKE = "takes it"
    REFUSE = "answers 503 and takes nothing"
    LOSE = "takes it, and ends the connection before its answer"
    HANG = "takes it, and answers too late"
    GONE = "answers 410"


@dataclass
class Delivered:
    """The deliveries that a receiver got, and the rows that they fold to.

    Args:
        port: to listen on; 0 for a free one.
        script: behaviours for the next requests; all later requests are accepted.

    Attributes:
        attempts: id and body of each request.
        order: ids of accepted deliveries in order of arrival, without duplicates.
        fold: the rows after applying these deliveries.
        secret: if set, signatures are checked.
    """

    port: int = 0
    script: list[Behaviour] = field(default_factory=list)
    attempts: list[tuple[str, bytes]] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    fold: MessageFold = field(default_factory=MessageFold)
    secret: str | None = None
    faults: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def numbers(self) -> list[int]:
        """The numbers of the accepted deliveries, in order of arrival."""
        return [int(delivery.rpartition(".")[2]) for delivery in self.order]

    def table(self) -> list[dict[str, Any]]:
        """The folded rows, sorted by their JSON text."""
        with self._lock:
            return self.fold.rows

    def take(self, headers: dict[str, str], body: bytes) -> None:
        """Fold a delivery, unless it is a duplicate."""
        with self._lock:
            delivery = headers["webhook-id"]
            if self.secret is not None:
                key = signing_key(Scheme.STANDARD_WEBHOOKS, self.secret)
                check_signature(
                    Scheme.STANDARD_WEBHOOKS, headers, body, [key], now=time.time(), tolerance=300
                )
            if delivery not in self.order:
                self.order.append(delivery)
                messages = json.loads(body)["messages"]
                if "position" not in messages[-1]:
                    self.faults.append(f"{delivery} has no position")
                for message in messages:
                    self.fold.take(message)


@contextmanager
def delivered(found: Delivered | None = None, hang_seconds: float = 1.0) -> Iterator[Delivered]:
    """Listen until the block ends. Pass an earlier `found` to restart that receiver with its state."""
    receiver = found or Delivered()

    def respond(request: Request) -> None:
        body = request.body()
        headers = {name.lower(): value for name, value in request.headers.items()}
        receiver.attempts.append((headers["webhook-id"], body))
        behaviour = receiver.script.pop(0) if receiver.script else Behaviour.TAKE
        if behaviour in (Behaviour.TAKE, Behaviour.LOSE, Behaviour.HANG):
            try:
                receiver.take(headers, body)
            except Exception as error:  # noqa: BLE001 - the test checks them
                receiver.faults.append(repr(error))
        if behaviour is Behaviour.LOSE:
            request.connection.close()
            return
        if behaviour is Behaviour.HANG:
            time.sleep(hang_seconds)
        code = {Behaviour.REFUSE: 503, Behaviour.GONE: 410}.get(behaviour, 204)
        request.send_response(code)
        request.end_headers()

    with serving(respond, receiver.port) as receiver.port:
        yield receiver
