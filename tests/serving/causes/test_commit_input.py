"""Causes of commits that have no input of their own, or whose input is not known yet."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kit import delta_writer
from kit.cursors import changes_of, table_source
from kit.records import NOON
from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.readers.folder_tables import FolderTables
from lakehouse.settings import load_settings
from lakehouse.timestamps import to_micros
from serving.causes.causes import Causes
from serving.causes.commit_input import CommitInputs
from serving.causes.table_rows import TableRows
from serving.sources.cursor import Cursor

SESSIONS, BOTS = "silver.sessions", "silver.bots"


class Writer:
    """Appends rows to tables of a home, with the commit metadata of a job."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._warehouse = home / "warehouse"

    def append(self, name: str, rows: Sequence[Mapping[str, Any]], **metadata: Any) -> None:
        table = TABLES[name]
        delta_writer.create_table(self._warehouse, table)
        full = [{column: row.get(column) for column in table.column_names} for row in rows]
        delta_writer.append(self._warehouse, table, pa.Table.from_pylist(full, arrow_schema(table)), metadata)

    def record(
        self, job: str, batch: int, position: int, watermark: int = 0, heard: int | None = None
    ) -> None:
        """Write a row of the ledger."""
        times = {
            "position": noon_plus(position),
            "watermark": noon_plus(watermark),
            "heard": heard and noon_plus(heard),
        }
        self.append("ops.ledger", [{"job": job, "batch_id": batch, **times}], job=job)

    def session(self, job: str | None, upto: int | None, **row: Any) -> None:
        mark = {} if upto is None else {"upto": to_micros(noon_plus(upto))}
        self.append(SESSIONS, [{"session_id": f"{job}-{upto}", **row}], job=job, **mark)

    def causes_of(self, name: str) -> list[Any]:
        source = table_source(self.home, name, Causes(load_settings(home=self.home)))
        return [change["caused_by"] for change in changes_of(Cursor(source, {name: 0}))]


def noon_plus(minute: int) -> Any:
    return NOON + minute * timedelta(minutes=1)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    """Two events of one visitor, on time and late, in two batches of refine."""
    made = Writer(tmp_path)
    common = {"visitor_id": "v", "type": "page", "role": "page_view"}
    for number, is_late in ((1, False), (2, True)):
        event = {"event_id": f"e{number}", "event_time": noon_plus(number), "is_late": is_late}
        made.append("silver.events", [{**common, **event, "ingested_at": noon_plus(number)}])
    return made


def session_fields(first: int, last: int) -> dict[str, Any]:
    return {"visitor_id": "v", "started_at": noon_plus(first), "ended_at": noon_plus(last), "is_open": True}


def test_commit_without_input_names_its_job(writer: Writer) -> None:
    writer.session("rebuild", None, **session_fields(0, 9))
    writer.session(None, None, **session_fields(0, 9))
    assert writer.causes_of(SESSIONS) == [{"job": "rebuild"}, {"job": None}]


def test_change_is_withheld_until_its_batch_is_in_the_ledger(writer: Writer) -> None:
    writer.session("refine", 1, **session_fields(0, 9))
    assert writer.causes_of(SESSIONS) == []
    writer.record("refine", 0, 1)
    assert writer.causes_of(SESSIONS) == [{"events": ["e1"]}]


def test_refine_is_caused_by_on_time_events_and_repair_by_late_events(writer: Writer) -> None:
    writer.record("refine", 0, 2)
    writer.record("repair", 0, 2)
    writer.session("refine", 2, **session_fields(0, 9))
    writer.session("repair", 2, **session_fields(0, 9))
    assert writer.causes_of(SESSIONS) == [{"events": ["e1"]}, {"events": ["e2"]}]


def test_events_of_previous_commit_are_not_named_as_cause(writer: Writer) -> None:
    late = {"event_id": "e0", "visitor_id": "v", "type": "page", "event_time": noon_plus(1), "is_late": True}
    writer.append("silver.events", [{**late, "ingested_at": noon_plus(1)}])
    writer.record("repair", 0, 2)  # the batch was interrupted, and is a longer one when it is repeated
    writer.session("repair", 1, **session_fields(0, 9))
    writer.session("repair", 2, **session_fields(0, 9))
    assert writer.causes_of(SESSIONS) == [{"events": ["e0"]}, {"events": ["e2"]}]


def test_batch_of_only_repaired_events_has_no_new_input(writer: Writer) -> None:
    writer.record("publish", 0, 2, heard=1)
    writer.record("publish", 1, 2, heard=2)
    inputs = CommitInputs(TableRows(FolderTables(writer.home / "warehouse")))
    for heard in (1, 2):
        writer.append(
            "gold.touches", [], job="publish", upto=to_micros(noon_plus(2)), heard=to_micros(noon_plus(heard))
        )
    first, second = (inputs.find("gold.touches", each, inputs.marks("gold.touches", each)) for each in (1, 2))
    one, two = to_micros(noon_plus(1)), to_micros(noon_plus(2))
    assert (first.new, first.repaired) == ([(0, two)], [(0, one)])
    assert (second.new, second.repaired) == ([], [(one, two)])


def test_repeated_batch_has_no_new_input(writer: Writer) -> None:
    marks = {"job": "publish", "upto": to_micros(noon_plus(2)), "heard": to_micros(noon_plus(2))}
    writer.record("publish", 0, 2, heard=2)
    for _ in range(2):
        writer.append("gold.touches", [], **marks)
    inputs = CommitInputs(TableRows(FolderTables(writer.home / "warehouse")))
    first, second = (inputs.find("gold.touches", each, inputs.marks("gold.touches", each)) for each in (1, 2))
    assert (first.new, first.repaired) == ([(0, to_micros(noon_plus(2)))], [(0, to_micros(noon_plus(2)))])
    assert (second.new, second.repaired) == ([], [])


def test_bot_of_earlier_events_is_named_as_cause(writer: Writer) -> None:
    writer.record("publish", 0, 1, heard=0)
    writer.record("publish", 1, 2, heard=1)
    writer.append(
        BOTS, [{"visitor_id": "v", "ingested_at": noon_plus(1)}], job="repair", upto=to_micros(noon_plus(1))
    )
    touch = {"touch_id": "t", "visitor_id": "v", "touched_at": noon_plus(0)}
    writer.append(
        "gold.touches", [touch], job="publish", upto=to_micros(noon_plus(2)), heard=to_micros(noon_plus(1))
    )
    assert writer.causes_of("gold.touches") == [{"bots": ["v"], "events": ["e2"]}]


def test_rejected_record_is_named_by_its_kafka_offset(writer: Writer) -> None:
    place = {"topic": "events", "partition": 2, "offset": 7}
    writer.record("refine", 0, 1)
    writer.append("silver.rejected_events", [place], job="refine", upto=to_micros(noon_plus(1)))
    assert writer.causes_of("silver.rejected_events") == [{"records": [place]}]


def test_row_without_matching_input_event_names_its_job(writer: Writer) -> None:
    writer.record("refine", 0, 1)
    writer.session("refine", 1, **{**session_fields(0, 9), "visitor_id": "another"})
    assert writer.causes_of(SESSIONS) == [{"job": "refine"}]
