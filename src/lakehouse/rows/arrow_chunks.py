"""Chunks of Arrow columns."""

import pyarrow as pa

_MAX_BYTES = 2**31 - 1  # of texts and lists: their offsets have 32 bits


def one_chunk(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in one chunk, which is faster to search than many; unchanged if it is too large for one."""
    if column.num_chunks == 1 or column.nbytes > _MAX_BYTES:
        return column
    return pa.chunked_array([column.combine_chunks()], column.type)
