"""Silver and gold depend only on bronze, not on the machine's clock, its time zone or batch sizes."""

import os
import shutil
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from kit.home import ROOT, Home
from kit.tables import differences, folder

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
DAYS = 400


def with_bronze_of(home: Home, path: Path, **more: str) -> Home:
    """A home that has ingested the same records, and nothing else."""
    for table in ("bronze", "ops/ledger"):
        shutil.copytree(home.path / "warehouse" / table, path / "warehouse" / table)
    other = Home(path, home.bootstrap, home.topic, more)
    DeltaTable(folder(other, "ops.ledger")).delete("job <> 'ingest'")
    return other


@pytest.mark.long
@pytest.mark.skipif(not LIBRARIES, reason="needs libfaketime (Debian, Ubuntu: apt-get install libfaketime)")
def test_tables_are_independent_of_machine_clock_and_time_zone(caught_up_home: Home, tmp_path: Path) -> None:
    shifted = with_bronze_of(
        caught_up_home,
        tmp_path / "home",
        LD_PRELOAD=str(LIBRARIES[0]),
        FAKETIME=f"+{DAYS}d",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
        PYTHONPATH=os.pathsep.join((str(ROOT / "tests" / "kit" / "faked_clock"), str(ROOT / "src"))),
        TZ="Asia/Kathmandu",
        MILLRACE_MAX_BATCH_ROWS="2000",
    )
    shifted.must("run", "refine", "repair", "publish", "--once")
    started = pl.scan_delta(folder(shifted, "ops.ledger")).select("job", "started_at").collect()
    by_job = dict(started.group_by("job").agg(pl.col("started_at").max()).iter_rows())
    assert (by_job["publish"] - by_job["ingest"]).days >= DAYS - 1, "the clock was another"
    assert differences(caught_up_home, shifted) == {}
