"""Manifests of the records that clients sent, which `audit` compares with bronze."""

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
"""Name of the record header with the id of the manifest."""


@dataclass
class Manifest:
    """The records of one run of a client that Kafka has acknowledged.

    Written as incomplete at the start and at intervals, and finally at the end. `records`,
    `checksum` and `offsets` cover exactly the acknowledged records; `unconfirmed` records were sent
    but never acknowledged, so the topic may or may not have them.

    Attributes:
        source: the file of the records, or the settings of the generator.
        topic_id: Kafka's id of the topic; None if Kafka has none.
        checksum: order-independent, see `millrace.clients.checksum`.
        offsets: first and last acknowledged offset, by partition.
        set_aside: number of lines that did not become records.
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
        """Count a record that Kafka has acknowledged; offset -1 means that the offset is unknown."""
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
        """Write the final counts; complete only if the whole source was sent and acknowledged."""
        self.ended_at = now_rfc3339()
        self.status = "complete" if whole and not self.unconfirmed else "incomplete"
        self.write()

    def write(self) -> None:
        """Write the file atomically.

        Raises:
            MillraceError: if the folder is not writable.
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
    """A manifest with a new id, written as incomplete.

    Args:
        home: the folder of all local state; manifests are in its folder `manifests/`.
        command: the sending command, e.g. `load`.
        source: the file of the records, or the settings of the generator.
        topic: name of the topic.
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
