"""Runs the jobs of a checkout on a home that has only bronze, and prints times and micro-batches."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
from deltalake import DeltaTable, write_deltalake

from benchmarks.bench import print_table

JOBS = ("refine", "repair", "publish")
MOST = 1.2  # time per row, relative to the first batch


def copy_of(full: Path, home: Path) -> Path:
    """Copy bronze and the ledger to a new home."""
    for layer in ("bronze", "ops"):
        shutil.copytree(full / "warehouse" / layer, home / "warehouse" / layer)
    return home


def fit_ledger(checkout: Path, home: Path) -> None:
    """Drop columns of ops.ledger that a checkout does not know. An older checkout fails on them."""
    script = "from lakehouse.contracts.ops import LEDGER; print(*LEDGER.column_names)"
    command = [str(checkout / ".venv" / "bin" / "python"), "-c", script]
    known = subprocess.run(command, check=True, cwd=checkout, capture_output=True, text=True).stdout.split()
    folder = home / "warehouse" / "ops" / "ledger"
    rows = DeltaTable(folder).to_pyarrow_table()
    fitting = rows.select([name for name in rows.column_names if name in known])
    write_deltalake(folder, fitting, mode="overwrite", schema_mode="overwrite")


def time_jobs(checkout: Path, home: Path, batch: int) -> float:
    """Seconds of `millrace run refine repair publish --once`, including the start of Spark.

    Args:
        checkout: a checkout with its own .venv. Its code, rules and settings are used.
        home: the home.
        batch: records per micro-batch.
    """
    command = [str(checkout / ".venv" / "bin" / "millrace"), "run", *JOBS, "--once"]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    more = {"MILLRACE_HOME": str(home), "MILLRACE_MAX_BATCH_ROWS": str(batch)}
    ours.pop("PYTHONPATH", None)
    started = time.monotonic()
    subprocess.run(command, check=True, cwd=checkout, env={**ours, **more}, stdout=sys.stderr)
    return time.monotonic() - started


def print_batches(name: str, home: Path) -> None:
    """Print all micro-batches, with the time per row relative to the first batch of the same job."""
    ledger = pl.scan_delta(home / "warehouse" / "ops" / "ledger").filter(pl.col("job").is_in(JOBS)).collect()
    rows = []
    for job in JOBS:
        first = None
        for batch in ledger.filter(pl.col("job") == job).sort("batch_id").to_dicts():
            by_row = batch["seconds"] / max(batch["input_rows"], 1)
            first = first or by_row
            times = by_row / first
            shown = f"{times:.2f}{' !' if times > MOST else ''}"
            figures = [f"{batch['input_rows']:,}", f"{batch['late']:,}", f"{batch['seconds']:.1f}"]
            rows.append([f"{job} {batch['batch_id']}", *figures, shown])
    columns = ["", "rows", "late", "s", "times the first, by the row"]
    print_table(f"{name}: micro-batches; ! is more than {MOST} times the first", columns, rows)
