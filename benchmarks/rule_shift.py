"""What do other rules change in a log and in sample traffic: sessions, channels, credit, bots?"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bench import print_table, progress

_ROOT = Path(__file__).resolve().parents[1]
_LOG = _ROOT.parent / "shared" / "data" / "apache_logs.log"
_JOBS = ("ingest", "refine", "repair", "publish")
_FIGURES = {
    "events": "SELECT 'all', count(*) FROM silver.events",
    "rejected": "SELECT reason, count(*) FROM silver.rejected_events GROUP BY ALL",
    "bots": "SELECT reason, count(*) FROM silver.bots GROUP BY ALL",
    "sessions": "SELECT channel, count(*) FROM silver.sessions GROUP BY ALL",
    "sessions of people": (
        "SELECT channel, count(*) FROM silver.sessions WHERE visitor_id NOT IN "
        "(SELECT visitor_id FROM silver.bots) GROUP BY ALL"
    ),
    "touches": "SELECT channel, count(*) FROM gold.touches WHERE earns_credit GROUP BY ALL",
    "conversions": "SELECT goal, count(*) FROM gold.conversions GROUP BY ALL",
    "value": "SELECT goal, sum(value) FROM gold.conversions GROUP BY ALL",
    "credit, last": (
        "SELECT channel, round(sum(credit), 1) FROM gold.attribution WHERE model = 'last' GROUP BY ALL"
    ),
}

Figures = dict[tuple[str, str], str]


def _figures(checkout: Path, load: Sequence[str]) -> Figures:
    """Figures of a new home of a checkout with its own .venv, by subject and by what it is split by."""
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        home = {"MILLRACE_HOME": folder}
        try:
            _run(checkout, home, "up", "--broker")
            _run(checkout, home, *load)
            _run(checkout, home, "run", *_JOBS, "--once")
            rows = {name: _run(checkout, home, "sql", query, "--csv") for name, query in _FIGURES.items()}
        finally:
            _run(checkout, home, "down")
    return {
        (name, split): figure
        for name, text in rows.items()
        for split, figure in list(csv.reader(text.splitlines()))[1:]
    }


def _run(checkout: Path, home: dict[str, str], *arguments: str) -> str:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    ours.pop("PYTHONPATH", None)
    command = [str(checkout / ".venv" / "bin" / "millrace"), *arguments]
    done = subprocess.run(
        command, check=True, cwd=checkout, env={**ours, **home}, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def main() -> int:
    """Print all figures that differ, and those of events."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rule_shift", description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="another checkout, with its .venv")
    parser.add_argument("--events", type=int, default=20_000, help="of the sample traffic")
    options = parser.parse_args()
    inputs = {
        f"the log ({_LOG.name})": ("load", str(_LOG), "--format", "access-log"),
        "sample traffic": ("produce", "--events", str(options.events)),
    }
    for title, load in inputs.items():
        progress(title)
        before, after = (_figures(checkout, load) for checkout in (options.before.resolve(), _ROOT))
        keys = [key for key in dict.fromkeys((*before, *after)) if before.get(key) != after.get(key)]
        shown = [[*key, before.get(key, ""), after.get(key, "")] for key in keys or [("events", "all")]]
        print_table(title, ["", "before", "after"], [[f"{a}: {b}", x, y] for a, b, x, y in shown])
    return 0


if __name__ == "__main__":
    sys.exit(main())
