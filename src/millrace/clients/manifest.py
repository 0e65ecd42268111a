"""What a client says it sent, so that `audit` can follow every record from there."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal
from uuid import uuid4

from lakehouse.errors import MillraceError
from lakehouse.files import replace_file
from lakehouse.timestamps import now_rfc3339
from millrace.clients.checksum import MODULUS, as_hex

HEADER = "manifest"
"""Name of the record header that carries the id of the manifest."""


@dataclass
class Manifest:
    """The records of one run of a client that Kafka has acknowledged.

    Written as incomplete at the start and at intervals, and for good at the end. `records`,
    `checksum` and `offsets` cover the acknowledged records exactly; `unconfirmed` ones were handed
    over and never acknowledged, so the topic may or may not hold them.

    Attributes:
        source: the file, or the settings of the generator, that the records came from.
        topic_id: Kafka's id of the topic; None if it gives none.
        checksum: order-independent, see `millrace.clients.checksum`.
        offsets: by partition, the first and the last offset acknowledged.
        set_aside: lines of the source that did not become records.
        started_at, ended_at: RFC 3339, UTC.
    """

    path: Path
    id: str
    command: str
    source: str
    topic: str
    started_at: str
    topic_id: str | None = None
    records: int = 0
    checksum: int = 0
    offsets: dict[int, dict[str, int]] = field(default_factory=dict)
    unconfirmed: int = 0
    set_aside: int = 0
    ended_at: str | None = None
    status: Literal["complete", "incomplete"] = "incomplete"

    def confirm(self, digest: int, partition: int, offset: int) -> None:
        """Count a record that Kafka has acknowledged (offset -1: it did not say where)."""
        self.records += 1
        self.checksum = (self.checksum + digest) % MODULUS
        if offset < 0:
            return
        span = self.offsets.get(partition)
        if span is None:
            self.offsets[partition] = {"first": offset, "last": offset}
        elif offset > span["last"]:
            span["last"] = offset
        elif offset < span["first"]:
            span["first"] = offset

    def close(self, whole: bool) -> None:
        """Write the final figures; complete only if the whole source went and nothing is unconfirmed."""
        self.ended_at = now_rfc3339()
        self.status = "complete" if whole and not self.unconfirmed else "incomplete"
        self.write()

    def write(self) -> None:
        """Write it so that a reader finds the old one or the new one, never half of one.

        Raises:
            MillraceError: if the folder can't be written to.
        """
        content = asdict(self)
        del content["path"]
        content["checksum"] = as_hex(self.checksum)
        content["offsets"] = {str(partition): span for partition, span in sorted(self.offsets.items())}
        try:
            replace_file(self.path, json.dumps(content, indent=2))
        except OSError as error:
            raise MillraceError(
                f"the manifest {self.path} can't be written: {error.strerror}",
                "Free some space or set MILLRACE_HOME to a folder you may write to",
            ) from error


def new_manifest(home: Path, command: str, source: str, topic: str) -> Manifest:
    """A manifest under a new id, written as incomplete.

    Args:
        home: the folder of all local state; manifests are under `manifests/` there.
        command: the command that sends, e.g. `load`.
        source: what it sends.
        topic: where to.
    """
    started_at = now_rfc3339()
    name = f"{started_at[:19].replace('-', '').replace(':', '')}Z-{command}-{uuid4().hex[:8]}"
    manifest = Manifest(
        path=home / "manifests" / f"{name}.json",
        id=name,
        command=command,
        source=source,
        topic=topic,
        started_at=started_at,
    )
    manifest.write()
    return manifest
