"""`millrace erase` on a home with a broker: it is proven, audited, and holds when records are sent again."""

from pathlib import Path

import polars as pl
import pytest

from kit.home import JOBS, SAMPLE_EVENTS, Home

pytestmark = pytest.mark.long


def person_of(home: Home) -> tuple[str, str]:
    """The user with the most events, and one of the user's UIDs."""
    events = pl.read_delta(
        str(home.path / "warehouse" / "silver" / "events"), columns=["user_id", "event_id"]
    ).drop_nulls()
    user = str(events["user_id"].value_counts().sort("count", "user_id")["user_id"][-1])
    return user, str(events.filter(pl.col("user_id") == user)["event_id"][0])


def test_erased_person_stays_erased(caught_up_home: Home, tmp_path: Path) -> None:
    home = caught_up_home.copy(tmp_path / "home")
    user, uid = person_of(home)
    done = home.run("erase", "--user", user, "--prove")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing was found" in done.stderr
    assert home.run("privacy", "search", "--also", uid).returncode == 0
    home.must("audit")
    assert home.run("export-person", "--user", user).returncode == 1
    home.must("produce", "--events", str(SAMPLE_EVENTS), "--seed", "7")  # copies of the sample
    home.must("run", *JOBS, "--once")
    assert home.run("export-person", "--user", user).returncode == 1
    assert int(home.sql("SELECT sum(erased) FROM ops.ledger")[0][0]) > 0
    home.must("audit")
