"""Rows of a table in Arrow's format, compressed: as JSON they would take 30 times the room."""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import pyarrow as pa

from lakehouse.rows.row_json import row_json
from serving.processes.stored_parts import StoredParts
from serving.reader_budget import ReaderBudget
from serving.sources.source import CHUNK

_ROWS = 1_000
"""Rows of a stored part."""
_WRITING = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
_READING = pa.ipc.IpcReadOptions(use_threads=False)


class StoredRows:
    """Rows of a table, on disk until they have been sent; few are kept in memory.

    Args:
        parts: the rows, which are all read.
        budget: counts their bytes; None: without limit.
        reader: for whom they are kept.
        folder: for what is stored on disk; None: in the system's folder of temporary files.

    Raises:
        TryLaterError: if too many bytes are kept, or the disk has no room.
    """

    def __init__(
        self,
        parts: Iterable[pa.Table],
        budget: ReaderBudget | None = None,
        reader: str = "",
        folder: Path | None = None,
    ) -> None:
        self._parts = StoredParts(folder)
        with (budget or ReaderBudget()).reserve(reader) as self._reservation:
            for part in parts:
                for batch in filter(len, part.to_batches(_ROWS)):
                    content = _to_bytes(batch)
                    self._reservation.add(len(content))
                    self._parts.add(content)

    def lines(self) -> Iterator[bytes]:
        """The rows as JSON, one a line, in parts. While a part is sent, no others are in memory."""
        for (content,) in self._parts:
            chunks = (_json(_from_bytes(content).slice(start, CHUNK)) for start in range(0, _ROWS, CHUNK))
            yield from takewhile(bool, chunks)


def _json(batch: pa.RecordBatch) -> bytes:
    return b"\n".join(map(row_json, batch.to_pylist()))


def _to_bytes(batch: pa.RecordBatch) -> bytes:
    content = pa.BufferOutputStream()
    with pa.ipc.new_stream(content, batch.schema, options=_WRITING) as writer:
        writer.write_batch(batch)
    found: bytes = content.getvalue().to_pybytes()
    return found


def _from_bytes(content: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(content, options=_READING) as reader:
        return reader.read_next_batch()
