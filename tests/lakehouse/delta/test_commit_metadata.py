"""Merges of one session: which run concurrently, and which wait for each other."""

import threading
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from lakehouse.delta.commit_metadata import CommitMetadata

_IDS = "spark.databricks.delta.write.txnAppId"


class Arriving(dict[str, str | int]):
    """Transaction ids that tell when they have been compared with others, or written to the session."""

    def __init__(self, app: str) -> None:
        super().__init__(txnAppId=app)
        self.arrived = threading.Event()

    def __eq__(self, other: object) -> bool:
        self.arrived.set()
        return dict.__eq__(self, other)

    __hash__ = None  # type: ignore[assignment]

    def items(self) -> Iterable[Any]:  # type: ignore[override]
        yield from super().items()
        self.arrived.set()


def session() -> tuple[Any, dict[str, str]]:
    conf: dict[str, str] = {}
    access = SimpleNamespace(set=conf.__setitem__, unset=lambda key: conf.pop(key, None))
    return SimpleNamespace(conf=access), conf


def test_merges_with_the_same_metadata_and_other_transaction_ids_wait() -> None:
    spark, conf = session()
    merges, other, seen = CommitMetadata(spark), Arriving("searches"), []

    def merge() -> None:
        with merges.on_session("{}", other):
            seen.append(conf[_IDS])

    thread = threading.Thread(target=merge)
    with merges.on_session("{}", {"txnAppId": "sessions"}):
        thread.start()
        assert other.arrived.wait(10)
        seen.append(conf[_IDS])
    thread.join(10)
    assert seen == ["sessions", "searches"]
    assert conf == {}


def test_merges_with_equal_metadata_and_ids_run_concurrently() -> None:
    spark, conf = session()
    merges, both = CommitMetadata(spark), threading.Barrier(2, timeout=10)

    def merge() -> None:
        with merges.on_session("{}"):
            both.wait()

    threads = [threading.Thread(target=merge) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not both.broken
    assert conf == {}
