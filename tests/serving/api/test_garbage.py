"""Full garbage collections, during which nothing is answered, visit few objects."""

import json
import subprocess
import sys
from pathlib import Path

from kit.home import ROOT
from kit.warehouse_builder import append_rows

READING = """
import gc, json, sys
from pathlib import Path
from lakehouse.contracts import TABLES
from lakehouse.readers.folder_tables import FolderTables
from serving.api import server

server._exempt_from_collection()
before = len(gc.get_objects())
tables = FolderTables(Path(sys.argv[1]))
rows = [row for part in tables.rows(TABLES["gold.funnel"], 0) for row in part.to_pylist()]
print(json.dumps([len(rows), before, len(gc.get_objects()), gc.get_threshold()]))
"""


def test_modules_are_no_part_of_collections(tmp_path: Path) -> None:
    append_rows(tmp_path, "gold.funnel", [{"step": "visit"}])
    output = subprocess.check_output(
        [sys.executable, "-c", READING, str(tmp_path / "warehouse")], env={"PYTHONPATH": str(ROOT / "src")}
    )
    rows, before, after, thresholds = json.loads(output)
    assert rows == 1
    assert before < 1_000
    assert after < 5_000
    assert thresholds[0] > 700, "Python's own"
