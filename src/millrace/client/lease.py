"""Renews a lease while a group is applied or the stream is quiet."""

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from millrace.client.position_store import PositionStore

_LOG = logging.getLogger("millrace.client")


@contextmanager
def renewed(store: PositionStore, name: str, leader: str, lease: float) -> Iterator[None]:
    """Renew a lease three times per duration during the block, on a thread with its own connection.

    A failure is logged, and the lease expires; the next group detects whether another consumer leads.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_renew, args=(store, name, leader, lease, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(lease)


def _renew(store: PositionStore, name: str, leader: str, lease: float, ended: threading.Event) -> None:
    while not ended.wait(lease / 3):
        with _logged(name), closing(store.connect(lease)) as connection:
            while store.renew(connection, name, leader, lease):
                if ended.wait(lease / 3):
                    return
            return


@contextmanager
def _logged(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - drivers have different errors
        _LOG.warning("Cannot renew the lease of consumer %s: %s", name, error)
