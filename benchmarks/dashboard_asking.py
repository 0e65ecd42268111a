"""Records and times the queries of each page, in a process like the dashboard server.

Run by `benchmarks.dashboard`.
"""

import json
import os
import pickle
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "dashboards")]

VIEWERS = 10
REFRESH = 2.5  # seconds between redraws of a page
CHANGING = (
    *("ops.ledger", "silver.events", "silver.sessions", "gold.touches", "gold.conversions"),
    *("gold.attribution", "gold.trails", "gold.traffic"),
)
_PERIODS = ("Last hour", "24 hours", "7 days", "30 days", "All")
_ROUNDS = 3

Asked = list[tuple[Any, tuple[Any, ...]]]  # figures of a page, each with function and arguments
Took = tuple[float, float]  # wall seconds and CPU seconds
Pages = dict[str, list[Asked]]  # figures by page, for each period, and for one channel


def what_pages_ask(home: Path) -> Pages:
    """Open each page, and record the figures it computes."""
    os.environ["MILLRACE_HOME"] = str(home)
    from streamlit import config
    from streamlit.testing.v1 import AppTest
    from tables.table_cache import Look

    from kit.dashboards_folder import DASHBOARDS, VIEWS

    config.set_option("server.address", "127.0.0.1")
    heard: Asked = []
    figure = Look.figure

    def listen(look: Look, work_out: Any, *arguments: Any) -> Any:
        heard.append((work_out, arguments))
        return figure(look, work_out, *arguments)

    Look.figure = listen  # type: ignore[method-assign,assignment]
    found: Pages = defaultdict(list)
    variants = [{"period": period} for period in _PERIODS] + [{"period": "30 days", "channel": "Email"}]
    for query in variants:
        page = AppTest.from_file(str(DASHBOARDS / "app.py"), default_timeout=120)
        page.query_params.update({**query, "conversion": _a_conversion(home)})
        page.run()
        for view in VIEWS:
            heard.clear()
            page.switch_page(f"views/{view}.py").run()
            assert not page.exception, page.exception
            found[view].append(list(heard))
    Look.figure = figure  # type: ignore[method-assign]
    return dict(found)


def _a_conversion(home: Path) -> str:
    import polars as pl

    conversions = pl.scan_delta(str(home / "warehouse/gold/conversions")).sort("converted_at")
    return str(conversions.head(1).collect()["conversion_id"][0])


def cold(home: Path, reader: str, asked: Asked) -> Took:
    """Time the figures of a page in a process that has not opened any table yet."""
    return _seconds(_lake(home, reader).look(), asked)


def warm(home: Path, readers: Sequence[str], pages: Pages) -> dict[str, dict[str, list[Took]]]:
    """Time the figures by reader and page, in a process that has opened the tables, after commits to each."""
    from benchmarks.dashboard_layout import commit, latest_row

    rows = {name: latest_row(home, name) for name in CHANGING}
    lakes = {reader: _lake(home, reader) for reader in readers}
    times: dict[str, dict[str, list[Took]]] = {reader: defaultdict(list) for reader in readers}
    for again in range(_ROUNDS):
        for view, kinds in pages.items():
            for asked in kinds:
                for name, row in rows.items():
                    commit(home, name, row)
                for reader, lake in lakes.items():
                    lake.forget()
                    took = _seconds(lake.look(), asked)
                    if again:  # the first round opens the tables
                        times[reader][view].append(took)
    return times


def commits(home: Path, seconds: float) -> None:
    """Commit to every table repeatedly."""
    from benchmarks.dashboard_layout import commit, latest_row

    rows = {name: latest_row(home, name) for name in CHANGING}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for name, row in rows.items():
            commit(home, name, row)
        time.sleep(REFRESH)


def crowd(home: Path, reader: str, pages: Pages, seconds: float) -> dict[str, Any]:
    """Seconds by page for concurrent viewers while tables change, and the peak memory."""
    lake = _lake(home, reader)
    times: dict[str, list[float]] = defaultdict(list)
    until, most = time.monotonic() + seconds, 0
    viewers = [
        threading.Thread(target=_view, args=(lake, pages, number, until, times)) for number in range(VIEWERS)
    ]
    for viewer in viewers:
        viewer.start()
    while any(viewer.is_alive() for viewer in viewers):
        most = max(most, psutil.Process().memory_info().rss)
        time.sleep(0.2)
    return {"times": times, "most": most}


def _view(lake: Any, pages: Pages, number: int, until: float, times: dict[str, list[float]]) -> None:
    views, turn = list(pages), number
    time.sleep(number * REFRESH / VIEWERS)
    while time.monotonic() < until:
        view = views[turn % len(views)]
        took, _ = _seconds(lake.look(), pages[view][(turn + number) % len(pages[view])])
        times[view].append(took)
        turn += 1
        time.sleep(max(REFRESH - took, 0))


def _lake(home: Path, reader: str) -> Any:
    from tables.delta_backend import LocalTables
    from tables.table_cache import Lake

    if reader == "polars":
        return Lake(LocalTables(home / "warehouse"))
    from benchmarks.dashboard_duckdb import DuckDBTables

    return Lake(DuckDBTables(home / "warehouse"))


def _seconds(look: Any, asked: Asked) -> Took:
    began, worked = time.perf_counter(), time.process_time()
    for work_out, arguments in asked:
        look.figure(work_out, *arguments)
    return time.perf_counter() - began, time.process_time() - worked


def main(arguments: Sequence[str]) -> None:
    """Run one mode, and print JSON.

    Args:
        arguments: `learn HOME FILE`, `cold HOME FILE READER VIEW NUMBER`, `warm HOME FILE READER…`,
            `crowd HOME FILE READER SECONDS` or `commits HOME SECONDS`.
    """
    what, home, file, *more = arguments
    if what == "learn":
        Path(file).write_bytes(pickle.dumps(what_pages_ask(Path(home))))
        return
    if what == "commits":
        commits(Path(home), float(file))
        return
    pages: Pages = pickle.loads(Path(file).read_bytes())
    if what == "cold":
        print(json.dumps(cold(Path(home), more[0], pages[more[1]][int(more[2])])))
    elif what == "warm":
        print(json.dumps(warm(Path(home), more, pages)))
    else:
        import streamlit  # noqa: F401  # its memory counts

        print(json.dumps(crowd(Path(home), more[0], pages, float(more[1]))))


if __name__ == "__main__":
    main(sys.argv[1:])
