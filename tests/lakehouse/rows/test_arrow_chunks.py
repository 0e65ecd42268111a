"""Columns in one chunk, where an Arrow array can hold them."""

import pyarrow as pa
import pytest

from lakehouse.rows.arrow_chunks import one_chunk


def test_chunks_are_joined() -> None:
    joined = one_chunk(pa.chunked_array([["a"], ["b", None]]))
    assert (joined.num_chunks, joined.to_pylist()) == (1, ["a", "b", None])


@pytest.mark.parametrize("nested", [False, True])
def test_text_of_more_than_2_gib_keeps_its_chunks(nested: bool) -> None:
    chunk = pa.array(["x" * 2**20] * 128)
    column = pa.chunked_array([pa.StructArray.from_arrays([chunk], ["text"]) if nested else chunk] * 16)
    assert one_chunk(column).equals(column)
