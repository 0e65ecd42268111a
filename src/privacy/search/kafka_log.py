"""Decompresses the batches of a Kafka broker's log segments."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from privacy.search.matching.compressed import block, decompressed

SEGMENT = re.compile(r"\d{20}\.(log|log\.deleted)")

_HEADER = 61
_LENGTH = slice(8, 12)  # of what follows it
_MAGIC = 16  # place of the version of the format
_CODECS = slice(21, 23)
_SNAPPY = 2


def compressed_batches(file: BinaryIO) -> Iterator[Iterator[bytes]]:
    """The records of each compressed batch, as a stream. Others are in the file as they are."""
    file.seek(0)
    while len(header := file.read(_HEADER)) == _HEADER and header[_MAGIC] == 2:
        size = int.from_bytes(header[_LENGTH], "big") - (_HEADER - _LENGTH.stop)
        codec = int.from_bytes(header[_CODECS], "big") & 0x07
        if not codec:
            file.seek(size, 1)
            continue
        content = file.read(size)
        records = decompressed([content], depth=1)
        if records is None and codec == _SNAPPY:
            records = iter([block(content)])
        if records is not None:
            yield records
