"""Merges of one session: which run concurrently, and which wait for each other."""

import threading
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from lakehouse.delta.commit_metadata import CommitMetadata

_IDS = "spark.databricks.delta.write.txnAppId"


class ObservedIds(dict[str, str | int]):
    """Transaction ids that signal when they are compared with others, or written to the session."""

    def __init__(self, app: str) -> None:
        super().__init__(txnAppId=app)
        self.accessed = threading.Event()

    def __eq__(self, other: object) -> bool:
        self.accessed.set()
        return dict.__eq__(self, other)

    __hash__ = None  # type: ignore[assignment]

    def items(self) -> Iterable[Any]:  # type: ignore[override]
        yield from super().items()
        self.accessed.set()


def session() -> tuple[Any, dict[str, str]]:
    conf: dict[str, str] = {}
    access = SimpleNamespace(set=conf.__setitem__, unset=lambda key: conf.pop(key, None))
    return SimpleNamespace(conf=access), conf


def test_merge_waits_for_merge_with_other_transaction_ids() -> None:
    spark, conf = session()
    merges, other, seen = CommitMetadata(spark), ObservedIds("searches"), []

    def merge() -> None:
        with merges.on_session("{}", other):
            seen.append(conf[_IDS])

    thread = threading.Thread(target=merge)
    with merges.on_session("{}", {"txnAppId": "sessions"}):
        thread.start()
        assert other.accessed.wait(10)
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
