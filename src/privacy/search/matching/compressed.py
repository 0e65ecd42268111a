"""Decompresses streams: gzip, zstd, lz4 and snappy, as files have them, recognised by their first bytes."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import IO, cast

import lz4.block
import lz4.frame
import pyarrow as pa
import zstandard

Chunks = Iterator[bytes]

CHUNK = 1 << 20
"""Bytes that are read at once."""

_DEPTH = 3  # of a compressed stream in another
_SNAPPY = pa.Codec("snappy")
_SPARK_BLOCK = b"LZ4Block"  # of Spark's shuffles and of broadcasts
_SPARK_HEADER = 21  # magic, token, compressed size, size, checksum
_SPARK_STORED = 0x10  # of the token: the block is not compressed


class DamagedError(ValueError):
    """A compressed stream ends early, or has other bytes than it should."""


def decompressed(chunks: Iterable[bytes], depth: int = _DEPTH) -> Chunks | None:
    """The content of a compressed stream, at any depth of compression; None if it is not compressed."""
    chunks = iter(chunks)
    first = next(chunks, b"")
    decompress = next((by for magic, by in _FORMATS.items() if first.startswith(magic)), None)
    if decompress is None or not depth:
        return None
    inside = _checked(decompress, chain([first], chunks))
    start = next(inside, b"")
    whole = chain([start], inside)
    if depth > 1 and start.startswith(MAGICS):
        return decompressed(whole, depth - 1)
    return whole


def block(content: bytes) -> bytes:
    """The content of a snappy block without a frame, which begins with its size."""
    size = shift = 0
    for byte in content[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return bytes(_SNAPPY.decompress(content, size, asbytes=True)) if size else b""


def _checked(decompress: Callable[[Chunks], Chunks], chunks: Chunks) -> Chunks:
    try:
        yield from decompress(chunks)
    except (zlib.error, zstandard.ZstdError, RuntimeError, EOFError, pa.ArrowException, ValueError) as error:
        raise DamagedError(f"damaged: {error}") from error


def _gzip(chunks: Chunks) -> Chunks:
    """All members of a file, and what follows them."""
    member = zlib.decompressobj(wbits=31)
    for chunk in chunks:
        while chunk:
            if member.eof:
                if not chunk.startswith(b"\x1f"):
                    break  # padding
                member = zlib.decompressobj(wbits=31)
            yield member.decompress(chunk, CHUNK)
            while member.unconsumed_tail:
                yield member.decompress(member.unconsumed_tail, CHUNK)
            chunk = member.unused_data
    if not member.eof:
        raise DamagedError("it ends early")


def _zstd(chunks: Chunks) -> Chunks:
    with zstandard.ZstdDecompressor().stream_reader(
        cast(IO[bytes], _Reader(chunks)), read_across_frames=True
    ) as reader:
        while chunk := reader.read(CHUNK):
            yield chunk


def _lz4(chunks: Chunks) -> Chunks:
    with lz4.frame.LZ4FrameFile(_Reader(chunks)) as reader:
        while chunk := reader.read(CHUNK):
            yield chunk


def _lz4_blocks(chunks: Chunks) -> Chunks:
    reader = _Reader(chunks)
    while header := reader.exactly(_SPARK_HEADER):
        if not header.startswith(_SPARK_BLOCK):
            raise DamagedError("no block of LZ4 where one should be")
        size, whole = (int.from_bytes(header[at : at + 4], "little") for at in (9, 13))
        content = reader.exactly(size)
        stored = header[8] & 0xF0 == _SPARK_STORED
        yield content if stored or not size else lz4.block.decompress(content, uncompressed_size=whole)


def _snappy_frames(chunks: Chunks) -> Chunks:
    reader = _Reader(chunks)
    while header := reader.exactly(4):
        content = reader.exactly(int.from_bytes(header[1:], "little"))
        if header[0] == 0:
            yield block(content[4:])
        elif header[0] == 1:
            yield content[4:]


def _snappy_blocks(chunks: Chunks) -> Chunks:
    """As Java's snappy streams are, which Kafka's clients write."""
    reader = _Reader(chunks)
    reader.exactly(16)
    while size := reader.exactly(4):
        yield block(reader.exactly(int.from_bytes(size, "big")))


class _Reader:
    """A file of chunks."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes; empty at the end."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
        size = len(self._rest) if size < 0 else size
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def exactly(self, size: int) -> bytes:
        """So many bytes; none at the end."""
        parts = bytearray()
        while len(parts) < size and (part := self.read(size - len(parts))):
            parts += part
        if parts and len(parts) < size:
            raise DamagedError("it ends early")
        return bytes(parts)

    def close(self) -> None:
        """Nothing is open."""


_FORMATS: dict[bytes, Callable[[Chunks], Chunks]] = {
    b"\x1f\x8b\x08": _gzip,
    b"\x28\xb5\x2f\xfd": _zstd,
    b"\x04\x22\x4d\x18": _lz4,
    _SPARK_BLOCK: _lz4_blocks,
    b"\xff\x06\x00\x00sNaPpY": _snappy_frames,
    b"\x82SNAPPY\x00": _snappy_blocks,
}

MAGICS = tuple(_FORMATS)
"""First bytes of compressed streams."""
