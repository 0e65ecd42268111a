"""The audit reads each table as of the last micro-batch of its job in the ledger."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest
from deltalake import CommitProperties, write_deltalake

from lakehouse.settings import Settings, load_settings
from lakehouse.timestamps import to_micros
from millrace.audit.one_position import versions_at_one_position
from millrace.tables.pins import at_pinned_versions, pinned
from millrace.tables.table_reader import scan

FIRST = datetime(2026, 3, 1, tzinfo=timezone.utc)
SECOND = FIRST + timedelta(seconds=10)


class Tables:
    """The folder of a home's tables."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def commit(self, name: str, rows: pl.DataFrame | None = None, **metadata: object) -> None:
        """Append rows, one by default, with this metadata of the commit."""
        layer, short = name.split(".")
        folder = self.settings.warehouse / layer / short
        folder.mkdir(parents=True, exist_ok=True)
        kept = CommitProperties(custom_metadata={"userMetadata": json.dumps(metadata)})
        rows = pl.DataFrame({"n": [1]}) if rows is None else rows
        write_deltalake(folder, rows.to_arrow(), mode="append", commit_properties=kept)

    def record(self, job: str, position: datetime, heard: datetime | None = None) -> None:
        """Append a row of the ledger."""
        schema = {"job": pl.String, "position": pl.Datetime("us", "UTC"), "heard": pl.Datetime("us", "UTC")}
        rows = pl.DataFrame({"job": [job], "position": [position], "heard": [heard]}, schema=schema)
        self.commit("ops.ledger", rows)

    def versions(self) -> Mapping[str, int | None]:
        return versions_at_one_position(self.settings)


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(load_settings(home=tmp_path))


def test_table_is_read_before_commits_of_a_batch_that_is_not_recorded(tables: Tables) -> None:
    tables.commit("silver.events", job="refine", upto=to_micros(FIRST))
    tables.record("refine", FIRST)
    tables.commit("silver.events", job="refine", upto=to_micros(SECOND))
    tables.commit("silver.events")  # compacts the rows of both
    assert tables.versions()["silver.events"] == 0
    tables.record("refine", SECOND)
    assert tables.versions()["silver.events"] == 2


def test_batch_of_the_side_input_alone_is_told_by_its_own_mark(tables: Tables) -> None:
    marks = {"job": "publish", "upto": to_micros(FIRST)}
    tables.commit("gold.touches", **marks, heard=to_micros(FIRST))
    tables.record("publish", FIRST, heard=FIRST)
    tables.commit("gold.touches", **marks, heard=to_micros(SECOND))
    assert tables.versions()["gold.touches"] == 0
    tables.record("publish", FIRST, heard=SECOND)
    assert tables.versions()["gold.touches"] == 1


def test_identities_are_read_as_of_the_side_input_of_publish(tables: Tables) -> None:
    tables.commit("silver.identities", job="repair", upto=to_micros(FIRST))
    tables.commit("silver.identities", job="repair", upto=to_micros(SECOND))
    tables.record("repair", SECOND)
    tables.record("publish", SECOND, heard=FIRST)
    assert tables.versions()["silver.identities"] == 0
    tables.record("publish", SECOND, heard=SECOND)
    assert tables.versions()["silver.identities"] == 1


def test_table_of_a_first_batch_that_is_not_recorded_is_read_as_missing(tables: Tables) -> None:
    tables.record("ingest", FIRST)
    tables.commit("silver.events", job="refine", upto=to_micros(FIRST))
    versions = tables.versions()
    assert versions["silver.events"] is None
    assert scan(tables.settings, "silver.events") is not None
    with pinned(versions):
        assert scan(tables.settings, "silver.events") is None


def test_windows_are_read_as_of_the_minutes_that_they_sum(tables: Tables) -> None:
    tables.commit("gold.visitor_minutes", job="publish", upto=to_micros(FIRST), sequence=1)
    tables.commit("gold.traffic", job="publish", upto=to_micros(FIRST), minutes=1)
    tables.record("publish", FIRST)
    tables.commit("gold.visitor_minutes", job="publish", upto=to_micros(SECOND), sequence=2)
    tables.commit("gold.traffic", job="publish", upto=to_micros(FIRST), minutes=2)
    assert tables.versions()["gold.traffic"] == 0
    tables.record("publish", SECOND)
    assert tables.versions()["gold.traffic"] == 1


def test_pinned_table_keeps_its_rows_while_others_are_appended(tables: Tables) -> None:
    tables.commit("gold.touches")
    versions = tables.versions()
    tables.commit("gold.touches")
    with pinned(versions):
        rows = scan(tables.settings, "gold.touches")
        assert rows is not None
        assert rows.collect().height == 1


def test_spark_sql_names_the_version_of_each_pinned_table() -> None:
    with pinned({"gold.touches": 3, "gold.trails": None}):
        asked = at_pinned_versions("SELECT * FROM gold.touches AS t JOIN gold.touches_too JOIN gold.trails")
    assert asked == "SELECT * FROM gold.touches VERSION AS OF 3 AS t JOIN gold.touches_too JOIN gold.trails"
