"""Sessions, last-touch credit and traffic windows by DuckDB, as a lower bound for one machine.

DuckDB reads parsed, deduplicated events from Parquet, and computes everything once as a batch.
"""

import time
from pathlib import Path

import duckdb
from deltalake import DeltaTable

_SESSIONS = """
CREATE TABLE sessions AS
WITH marked AS (
  SELECT *, coalesce(event_time - lag(event_time) OVER each_one >= INTERVAL 30 MINUTE, true)::INT AS is_first
  FROM events WHERE type IN ('page', 'screen', 'track')
  WINDOW each_one AS (PARTITION BY visitor_id ORDER BY event_time, event_id)
), numbered AS (
  SELECT *, sum(is_first) OVER (PARTITION BY visitor_id ORDER BY event_time, event_id) AS number FROM marked
)
SELECT visitor_id, number, min(event_time) AS started_at, max(event_time) AS ended_at, count(*) AS events,
  arg_min(channel, event_time) AS channel, arg_min(url, event_time) AS entry_url,
  arg_max(url, event_time) AS exit_url, count(*) FILTER (type IN ('page', 'screen')) AS page_views
FROM numbered GROUP BY ALL
"""
_CREDIT = """
CREATE TABLE attribution AS
SELECT g.event_id, g.visitor_id, g.event_time AS converted_at, g.value,
  CASE WHEN s.started_at >= g.event_time - INTERVAL 30 DAY THEN s.channel ELSE 'Direct' END AS channel
FROM (SELECT * FROM events WHERE goal IS NOT NULL) g
ASOF LEFT JOIN sessions s ON g.visitor_id = s.visitor_id AND g.event_time >= s.started_at
"""
_TRAFFIC = """
CREATE TABLE traffic AS
WITH placed AS (
  SELECT e.event_time, e.visitor_id, e.goal, s.channel FROM events e
  ASOF LEFT JOIN sessions s ON e.visitor_id = s.visitor_id AND e.event_time >= s.started_at
), windows AS (
  SELECT unnest(['minute', 'hour', 'day']) AS kind, date_trunc(kind, event_time) AS start, * FROM placed
  UNION ALL
  SELECT 'hop' AS kind, time_bucket(INTERVAL 5 MINUTE, event_time) - INTERVAL 5 MINUTE * n AS start, placed.*
  FROM placed, range(12) r(n)
)
SELECT kind, start, channel, count(*) AS events, count(DISTINCT visitor_id) AS visitors,
  count(goal) AS conversions
FROM windows GROUP BY GROUPING SETS ((kind, start, channel), (kind, start))
"""


def time_duckdb(home: Path) -> float:
    """Seconds for the events in silver.events of a home, without their conversion to Parquet."""
    connection = duckdb.connect()
    connection.register("silver", DeltaTable(home / "warehouse" / "silver" / "events").to_pyarrow_dataset())
    file = home / "events.parquet"
    columns = "event_id, visitor_id, type, goal, value, channel, url, epoch_us(event_time) AS micros"
    connection.execute(f"COPY (SELECT {columns} FROM silver) TO '{file}' (FORMAT parquet)")
    started = time.monotonic()
    connection.execute(
        f"CREATE VIEW events AS SELECT * EXCLUDE (micros), make_timestamp(micros) AS event_time FROM '{file}'"
    )
    for query in (_SESSIONS, _CREDIT, _TRAFFIC):
        connection.execute(query)
    return time.monotonic() - started
