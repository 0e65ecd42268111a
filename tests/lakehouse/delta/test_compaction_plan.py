"""Which files compaction joins or splits."""

from datetime import date
from typing import Any

import pytest

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.silver import SESSIONS
from lakehouse.contracts.table import Table
from lakehouse.delta.compaction_plan import MAX_FILE_BYTES, MIN_FILES, plan_compaction
from lakehouse.delta.copy_on_write import MAX_ROWS_PER_SMALL_FILE
from lakehouse.rows.checkpointing import MAX_ROWS_PER_MUTABLE_FILE

ENOUGH_FILES = MIN_FILES + 1
FULL_FILE_ROWS = MAX_ROWS_PER_MUTABLE_FILE


def file(
    table: Table, number: int, rows: int = 1, size: int = 1, is_open: bool | None = None
) -> dict[str, Any]:
    """The file of one commit; a later commit has older rows."""
    return {
        "path": str(number),
        "num_records": rows,
        "size_bytes": size,
        "modification_time": number,
        f"min.{table.event_time}": -number,
        **{f"partition.{name}": is_open for name in table.partitioned_by},
    }


def plan(table: Table, files: list[dict[str, Any]]) -> list[list[int]]:
    return [[int(each["path"]) for each in group] for group in plan_compaction(table, files)]


def test_appended_small_files_are_joined_in_commit_order_up_to_full_size() -> None:
    third = MAX_FILE_BYTES // 3 + 1
    files = [file(KAFKA_RECORDS, number, size=third) for number in reversed(range(ENOUGH_FILES + 2))]
    assert plan(KAFKA_RECORDS, files) == [
        [first, first + 1, first + 2] for first in range(0, ENOUGH_FILES, 3)
    ]


def test_merged_small_files_are_joined_in_event_time_order() -> None:
    files = [file(CONVERSIONS, number, rows=FULL_FILE_ROWS // 10) for number in range(ENOUGH_FILES)]
    newest_first = list(reversed(range(ENOUGH_FILES)))
    assert plan(CONVERSIONS, files) == [newest_first[:10], newest_first[10:]]


@pytest.mark.parametrize("table", [KAFKA_RECORDS, CONVERSIONS])
def test_too_few_files_are_not_compacted(table: Table) -> None:
    assert plan(table, [file(table, number) for number in range(MIN_FILES)]) == []


@pytest.mark.parametrize("table", [KAFKA_RECORDS, CONVERSIONS])
def test_half_full_files_are_not_compacted(table: Table) -> None:
    files = [
        file(table, number, rows=FULL_FILE_ROWS // 2, size=MAX_FILE_BYTES // 2)
        for number in range(ENOUGH_FILES)
    ]
    assert plan(table, files) == []
    assert plan(table, [*files, file(table, ENOUGH_FILES)]) == [], "one small file stays as it is"


def test_compacted_mutable_files_are_at_least_half_full() -> None:
    """So that they are not compacted again."""
    for rows in range(1, FULL_FILE_ROWS // 2, 997):
        (group, *_) = plan(
            CONVERSIONS,
            [file(CONVERSIONS, number, rows) for number in range(FULL_FILE_ROWS // rows + ENOUGH_FILES)],
        )
        total = len(group) * rows
        parts = -(-total // FULL_FILE_ROWS)
        assert FULL_FILE_ROWS / 2 <= total / parts <= FULL_FILE_ROWS


def test_oversized_mutable_files_are_split_even_if_few() -> None:
    files = [file(CONVERSIONS, 0, rows=2 * FULL_FILE_ROWS), file(CONVERSIONS, 1, rows=2 * FULL_FILE_ROWS + 1)]
    assert plan(CONVERSIONS, files) == [[1]]
    assert (
        plan(KAFKA_RECORDS, [file(KAFKA_RECORDS, 0, rows=10 * FULL_FILE_ROWS, size=10 * MAX_FILE_BYTES)])
        == []
    )


def test_open_rows_stay_in_separate_small_files() -> None:
    """Each merge rewrites whole files of open rows."""
    half = MAX_ROWS_PER_SMALL_FILE // 2
    files = [file(SESSIONS, number, rows=half - 1, is_open=number % 2 == 0) for number in range(12)]
    files += [file(SESSIONS, number, rows=half + 1, is_open=True) for number in range(12, ENOUGH_FILES)]
    groups = plan(SESSIONS, files)
    assert [10, 8, 6] in groups
    assert [11, 9, 7, 5, 3, 1] in groups
    assert all(number < 12 for group in groups for number in group)


def test_files_without_statistics_are_compacted_first() -> None:
    files = [
        {**file(CONVERSIONS, number), "min.converted_at": date(2026, 1, 1)} for number in range(ENOUGH_FILES)
    ]
    files[5]["min.converted_at"] = None
    assert plan(CONVERSIONS, files)[0][0] == 5
