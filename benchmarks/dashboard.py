"""How long do the queries of each page take, cold, warm, and for ten viewers at once?

The questions are those of the pages themselves: each page is run once, and what it asks is written down.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "dashboards")]

MOST_WARM, MOST_COLD, MOST_BYTES = 0.150, 1.0, 2**30
VIEWERS = 10
_REFRESH = 2.5  # seconds, as the pages are drawn anew
_PERIODS = ("Last hour", "24 hours", "7 days", "30 days", "All")
_REPEATED = 5

Asked = list[tuple[Any, tuple[Any, ...]]]  # what a page works out: function and arguments


def main() -> None:
    """Write the tables, ask, and say what it took; exit code 1 if a limit is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000, help="of gold.attribution")
    parser.add_argument("--sessions", type=int, default=10_000_000, help="that a year's windows count")
    parser.add_argument("--seconds", type=float, default=30.0, help="that ten viewers look")
    parser.add_argument("--home", type=Path, help="keep the tables here, and use them if they are there")
    parser.add_argument("--cold", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cold:
        _ask_cold(arguments.cold, arguments.home)
        return
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        home = arguments.home or Path(folder)
        _prepare(home, arguments.rows, arguments.sessions)
        raise SystemExit(_measure(home, Path(folder), arguments.seconds))


def _prepare(home: Path, rows: int, sessions: int) -> None:
    from benchmarks.bench import progress
    from benchmarks.dashboard_tables import write_year

    if not (home / "warehouse").exists():
        progress(f"writing {rows:,} rows of attribution and a year of {sessions:,} sessions")
        for name, count in write_year(home, rows, sessions).items():
            progress(f"  {name}: {count:,}")


def _measure(home: Path, folder: Path, seconds: float) -> int:
    from benchmarks.bench import print_table, progress

    progress("opening each page, to learn what it asks")
    asked = _what_pages_ask(home)
    progress("asking in new processes")
    cold = {view: _cold(home, folder, kinds) for view, kinds in asked.items()}
    progress("asking again and again")
    warm = {
        view: [_ask(home, kind) for kind in kinds for _ in range(_REPEATED)] for view, kinds in asked.items()
    }
    progress(f"{VIEWERS} viewers for {seconds:g} s")
    crowd, memory = _crowd(home, asked, seconds)
    rows = [
        (view, *(f"{1000 * _p95(times[view]):,.0f}" for times in (cold, warm, crowd)), f"{len(crowd[view])}")
        for view in asked
    ]
    columns = ("page", "cold, ms", "warm, ms", f"{VIEWERS} viewers, ms", "looks")
    print_table("p95 of all queries of a page", columns, rows)
    print(f"memory of the process with {VIEWERS} viewers: {memory / 2**20:,.0f} MB at most")
    broken = [view for view in asked if _p95(warm[view]) > MOST_WARM or _p95(cold[view]) > MOST_COLD]
    print(f"over a limit ({MOST_WARM:g} s warm, {MOST_COLD:g} s cold): {', '.join(broken) or 'none'}")
    return int(bool(broken) or memory > MOST_BYTES)


def _what_pages_ask(home: Path) -> dict[str, list[Asked]]:
    """By page, what it asks for each period, and of one channel."""
    os.environ["MILLRACE_HOME"] = str(home)
    from reading.lake import Look
    from streamlit import config
    from streamlit.testing.v1 import AppTest

    from kit.dashboards_folder import DASHBOARDS, VIEWS

    config.set_option("server.address", "127.0.0.1")
    heard: Asked = []
    figure = Look.figure

    def listen(look: Look, work_out: Any, *arguments: Any) -> Any:
        heard.append((work_out, arguments))
        return figure(look, work_out, *arguments)

    Look.figure = listen  # type: ignore[method-assign,assignment]
    found: dict[str, list[Asked]] = defaultdict(list)
    variants = [{"period": period} for period in _PERIODS] + [{"period": "30 days", "channel": "Email"}]
    for query in variants:
        page = AppTest.from_file(str(DASHBOARDS / "app.py"), default_timeout=120)
        page.query_params.update(query)
        page.run()
        for view in VIEWS:
            heard.clear()
            page.switch_page(f"views/{view}.py").run()
            assert not page.exception, page.exception
            if view == "conversion":
                heard.extend(_one_conversion(home))
            found[view].append(list(heard))
    Look.figure = figure  # type: ignore[method-assign]
    return dict(found)


def _one_conversion(home: Path) -> Asked:
    from figures.story import find, tell
    from reading.query import Query

    look = _lake(home).look()
    ids = look.figure(lambda ask: ask(Query("gold.conversions", ("conversion_id",), limit=1)))
    wanted = ids["conversion_id"][0]
    return [(find, (wanted,)), (tell, (wanted, "EUR"))]


def _lake(home: Path, **more: int) -> Any:
    from reading.lake import Lake
    from reading.local import LocalTables

    return Lake(LocalTables(home / "warehouse"), **more)


_OPEN: dict[Path, Any] = {}


def _ask(home: Path, kind: Asked) -> float:
    """All that a page asks, by a process that has the tables open and no answers kept."""
    backend = _OPEN.setdefault(home, _lake(home).backend)
    from reading.lake import Lake

    return _seconds(Lake(backend).look(), kind)


def _seconds(look: Any, kind: Asked) -> float:
    began = time.perf_counter()
    for work_out, arguments in kind:
        look.figure(work_out, *arguments)
    return time.perf_counter() - began


def _cold(home: Path, folder: Path, kinds: list[Asked]) -> list[float]:
    """The same by processes that have not opened anything yet."""
    times = []
    for kind in kinds:
        file = folder / "asked.pickle"
        file.write_bytes(pickle.dumps(kind))
        command = [sys.executable, "-m", "benchmarks.dashboard", "--cold", str(file), "--home", str(home)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        times.append(float(done.stdout.split()[-1]))
    return times


def _ask_cold(file: Path, home: Path) -> None:
    kind: Asked = pickle.loads(file.read_bytes())
    print(_seconds(_lake(home).look(), kind))


def _crowd(home: Path, asked: dict[str, list[Asked]], seconds: float) -> tuple[dict[str, list[float]], int]:
    """Viewers who each look at other pages over other periods, while every table changes all the time."""
    lake, times, most = _lake(home), defaultdict(list), 0
    until = time.monotonic() + seconds
    views = list(asked)

    def view(number: int) -> None:
        turn = number
        while time.monotonic() < until:
            page = views[turn % len(views)]
            took = _seconds(lake.look(), asked[page][(turn + number) % len(asked[page])])
            times[page].append(took)
            turn += 1
            time.sleep(max(_REFRESH - took, 0))

    viewers = [threading.Thread(target=view, args=(number,)) for number in range(VIEWERS)]
    for viewer in viewers:
        viewer.start()
        time.sleep(_REFRESH / VIEWERS)
    while any(viewer.is_alive() for viewer in viewers):
        lake.forget()
        most = max(most, psutil.Process().memory_info().rss)
        time.sleep(0.5)
    return times, most


def _p95(times: list[float]) -> float:
    return sorted(times)[min(int(0.95 * len(times)), len(times) - 1)] if times else float("nan")


if __name__ == "__main__":
    main()
