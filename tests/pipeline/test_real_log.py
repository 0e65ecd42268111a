"""A real access log through all jobs, against counts by independent code."""

import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import pytest

from kit.home import REAL_LOG, ROOT, Home

OF_THE_LOG = "year({}) = 2015"  # the sample beside it is of another year
COMBINED = re.compile(
    r'(?P<address>\S+) \S+ \S+ \[(?P<time>[^\]]+)\] "\S+ (?P<path>[^ ?"]*)(?:[^"\\]|\\.)*" \d+ \S+ '
    r'"(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)'
)
FILES = re.compile(
    r"\.(avif|bmp|css|eot|gif|ico|jpe?g|m?js|json|map|mp[34]|otf|png|svg|ttf|txt|wasm|webm|webmanifest"
    r"|webp|woff2?|xml)$",
    re.IGNORECASE,
)
CHANNELS = ROOT / "docs" / "channels.md"
HALF_AN_HOUR = timedelta(minutes=30)


class View(NamedTuple):
    visitor: tuple[str, str]
    at: datetime
    referrer: str
    is_page: bool


@pytest.fixture(scope="module")
def views() -> list[View]:
    """The log's lines, read with the standard library alone."""
    if not REAL_LOG.is_file():
        pytest.skip(f"the real log is not there: {REAL_LOG}")
    found = []
    for line in REAL_LOG.read_text(encoding="utf-8").splitlines():
        entry = COMBINED.match(line)
        assert entry, line
        at = datetime.strptime(entry["time"], "%d/%b/%Y:%H:%M:%S %z")
        is_page = not FILES.search(entry["path"])
        found.append(View((entry["address"], entry["agent"]), at, entry["referrer"], is_page))
    return found


def count_sessions(views: list[View]) -> int:
    times: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for view in views:
        times[view.visitor].append(view.at)
    sessions = 0
    for moments in times.values():
        moments.sort()
        gaps = (later - earlier for earlier, later in pairwise(moments))
        sessions += 1 + sum(gap >= HALF_AN_HOUR for gap in gaps)
    return sessions


def test_each_log_line_is_in_bronze_and_in_silver(caught_up_home: Home, views: list[View]) -> None:
    (manifest,) = (caught_up_home.path / "manifests").glob("*-load-*.json")
    reported = caught_up_home.must("audit")
    (line,) = [line for line in reported.splitlines() if manifest.stem in line]
    assert "10,000 of 10,000 records in bronze" in line
    union = " UNION ".join(
        f'SELECT topic, partition, "offset" FROM silver.{name}'
        for name in ("events", "rejected_events", "duplicate_events")
    )
    query = f"""
        SELECT count(*) FROM bronze.kafka_records SEMI JOIN ({union}) USING (topic, partition, "offset")
        WHERE list_contains(list_transform(headers, lambda h: h.value), '{manifest.stem}'::BLOB)
    """
    assert len(views) == 10_000
    assert caught_up_home.sql(query) == [["10000"]]


def test_session_totals_match_independent_count(caught_up_home: Home, views: list[View]) -> None:
    visitors = len({view.visitor for view in views})
    figures = "count(*), count(DISTINCT visitor_id), sum(events), sum(page_views)"
    query = f"SELECT {figures} FROM silver.sessions WHERE {OF_THE_LOG.format('started_at')}"
    pages = sum(view.is_page for view in views)
    assert 0 < pages < 10_000
    assert caught_up_home.sql(query) == [[str(count_sessions(views)), str(visitors), "10000", str(pages)]]


def test_visits_by_channel_match_documentation(caught_up_home: Home, views: list[View]) -> None:
    rows = re.findall(
        r"^\| ([\w ]+) \| [\d,]+ \| ([\d,]+) \|", CHANNELS.read_text(encoding="utf-8"), re.MULTILINE
    )
    wanted = sorted([channel, visits.replace(",", "")] for channel, visits in rows)
    query = f"""
        SELECT channel, count(*) FROM silver.sessions WHERE {OF_THE_LOG.format("started_at")}
        GROUP BY channel ORDER BY channel
    """
    assert len(wanted) == 4
    assert caught_up_home.sql(query) == wanted


def test_top_referrers_match_independent_count(caught_up_home: Home, views: list[View]) -> None:
    counted = Counter(view.referrer for view in views if view.is_page and view.referrer not in ("", "-"))
    wanted = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:25]
    query = f"""
        SELECT referrer, count(*) AS views FROM silver.events
        WHERE role = 'page_view' AND referrer IS NOT NULL AND {OF_THE_LOG.format("event_time")}
        GROUP BY referrer ORDER BY views DESC, referrer LIMIT 25
    """
    assert caught_up_home.sql(query) == [[referrer, str(count)] for referrer, count in wanted]
