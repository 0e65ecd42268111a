"""Test oracle for the watermark, record by record. Shares no code with `src/`."""

from collections.abc import Iterable
from typing import Any, NamedTuple

Promised = tuple[str, int | None]


class Step(NamedTuple):
    """A record that may move the watermark.

    `key` is (ingest stamp, Kafka's timestamp, topic, partition, offset). `time` is that of an event or a
    heartbeat. `promise` is a source and its time, which is None for `end`.
    """

    key: tuple[Any, ...]
    time: int | None = None
    promise: Promised | None = None


def watermark_after(steps: Iterable[Step], delay: int) -> int | None:
    """The watermark after these records; None if nothing has moved it."""
    live: dict[str, int] = {}
    reached: list[int] = []
    for key, time, promise in sorted(steps, key=lambda step: step.key):
        if promise is None:
            if not live and time is not None:
                reached.append(time - delay)
            continue
        source, at = promise
        if at is None:
            live.pop(source, None)
        else:
            live[source] = max(live.get(source, 0), min(at, key[1]))
        by_name: dict[str, list[int]] = {}
        for node, promised in live.items():
            by_name.setdefault(node.rsplit("@", 1)[0], []).append(promised)
        if live:
            reached.append(min(max(times) for times in by_name.values()) - 1)
    return max(reached, default=None)
