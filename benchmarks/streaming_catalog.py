"""How long from a commit to a subscriber where tables are in a catalog, as on a workspace?

The catalog is that of the tests: a server of Spark Connect on loopback over a Hive metastore. Rows of a table
change by MERGE, written by another process than the server, and one client follows by server-sent events.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.bench import print_table, progress
from benchmarks.streaming import follow_events

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT / "tests"))  # the catalog and the table are those of the tests

from kit.api_process import api_process  # noqa: E402
from kit.catalog_server import running_catalog_server  # noqa: E402
from kit.delta_writer import STORED_CHANGES  # noqa: E402
from kit.live_table import LiveTable  # noqa: E402

WANTED = 1.0  # seconds; limit for the median


def main() -> int:
    """Run, print, and fail if the median is above the limit."""
    parser = argparse.ArgumentParser(prog="make bench-streaming-catalog", description=__doc__)
    parser.add_argument("--history", type=int, default=5_000, help="rows in the table")
    parser.add_argument("--rows", type=int, default=20, help="of a commit")
    parser.add_argument("--commits", type=int, default=40)
    parser.add_argument("--warm-up", type=int, default=20, help="commits before those that are measured")
    parser.add_argument("--pause", type=float, default=3, help="seconds between two commits")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        delays = _measure(Path(folder), options)[-options.commits :]
    shown = {f"p{percent}": float(np.percentile(delays, percent)) for percent in (50, 90, 100)}
    print_table(
        f"Seconds from commit to client, {len(delays)} commits of {options.rows} rows in {options.history:,}",
        ["", "s"],
        [[name, f"{seconds:.2f}"] for name, seconds in shown.items()],
    )
    print(f"Half of them within {shown['p50']:.2f} s, at most {WANTED:.1f} is wanted.")
    return int(shown["p50"] > WANTED)


def _measure(folder: Path, options: argparse.Namespace) -> list[float]:
    """Seconds from each commit to the client, in order."""
    home, server = folder / "home", folder / "server"
    home.mkdir()
    server.mkdir()
    table = LiveTable(home, rows=options.history, properties=STORED_CHANGES)
    with running_catalog_server(server) as catalog:
        catalog.register(home)
        progress("the catalog is there")
        with api_process(home, **catalog.env) as api:
            delays = asyncio.run(_follow(table, api.port, options))
    return delays


async def _follow(table: LiveTable, port: int, options: argparse.Namespace) -> list[float]:
    delays: list[float] = []
    following = asyncio.ensure_future(follow_events(port, delays, select=""))
    for number in range(options.warm_up + options.commits):
        await asyncio.to_thread(table.commit, 0, options.rows, 0)
        await asyncio.sleep(options.pause)
        if following.done():
            following.result()
        progress(f"commit {number + 1}: {len(delays)} received")
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    return delays


if __name__ == "__main__":
    sys.exit(main())
