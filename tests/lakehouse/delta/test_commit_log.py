"""Metadata of a table's commits."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from lakehouse.delta.commit_log import read_commits


@pytest.mark.parametrize("text", ["fixed by Bob", "[1]", ""])
def test_text_of_other_programs_is_no_metadata(tmp_path: Path, text: str) -> None:
    metadata: dict[str, Any] = {"job": "refine", "upto": 1}
    for each in (json.dumps(metadata), text):
        properties = CommitProperties(custom_metadata={"userMetadata": each})
        write_deltalake(tmp_path, pa.table({"number": [1]}), mode="append", commit_properties=properties)
    spark: Any = None  # a table in a folder is read without
    assert list(read_commits(spark, "silver.events", tmp_path)) == [(1, {}), (0, metadata)]
