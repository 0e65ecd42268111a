"""Requests to the streaming API's application in the same process, from any address."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from lakehouse.readers.folder_tables import FolderTables
from serving.api.application import Site, application
from serving.stream.hub import Hub, Limits
from serving.stream.subscription import Terms

THIS_MACHINE = "127.0.0.1"
_INTERVALS = (
    "lakehouse.followed_file._SECONDS",
    "serving.api.following._CHECK_SECONDS",
    "serving.api.readers._POLICY_SECONDS",
    "serving.webhooks.deliveries._LOOK_SECONDS",
)


@contextmanager
def api_client(
    home: Path,
    conf: Path | None = None,
    address: str = THIS_MACHINE,
    heartbeat: float = 15.0,
    hosts: frozenset[str] = frozenset({THIS_MACHINE}),
) -> Iterator[TestClient]:
    """A client of an application that polls for changes every 0.1 seconds.

    Args:
        home: with the tables.
        conf: folder of access.yml; by default, that of the home.
        address: the client address of requests, which are sent to loopback.
        heartbeat: interval in seconds.
        hosts: to which webhooks may be sent.
    """
    hub, terms = Hub(FolderTables(home / "warehouse"), Limits()), Terms(heartbeat=heartbeat)
    app = application(
        hub,
        terms,
        30.0,
        Site(home, conf or home / "conf", webhook_hosts=hosts, trusts_local=True),
    )
    with ExitStack() as stack:
        for name in _INTERVALS:
            stack.enter_context(patch(name, 0.1))
        yield stack.enter_context(TestClient(app, f"http://{THIS_MACHINE}:8789", client=(address, 50_000)))


def from_this_machine(app: ASGIApp) -> ASGIApp:
    """Wrap the application so that every request appears to come from loopback."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if "headers" in scope:
            others = [each for each in scope["headers"] if each[0] != b"host"]
            headers = [*others, (b"host", THIS_MACHINE.encode())]
            scope = {**scope, "client": (THIS_MACHINE, 50_000), "headers": headers}
        await app(scope, receive, send)

    return answer
