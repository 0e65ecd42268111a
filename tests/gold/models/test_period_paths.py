"""The paths of periods: how they are told apart, named and hashed, and what is made of them."""

import csv
import io
from datetime import datetime, timedelta, timezone

import pytest

from gold.rules.model_run import ModelRun
from gold.rules.paths import Path
from gold.rules.period_paths import LAST_DAYS, PeriodPaths, gather

WATERMARK = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
MARCH = (datetime(2026, 2, 28, 23, tzinfo=timezone.utc), datetime(2026, 3, 31, 22, tzinfo=timezone.utc))
LAST = (WATERMARK - LAST_DAYS, WATERMARK)
WAYS = [Path(("a", "b"), 2, 10.5, 1), Path(("b",), 0, 0.0, 3)]
RULES = {"look_back_days": "30"}


def computed(*rows: tuple[tuple[datetime, datetime], Path], **rules: str) -> ModelRun:
    return ModelRun(
        WATERMARK, "Europe/Berlin", gather((*span, path) for span, path in rows), {**RULES, **rules}
    )


def test_paths_are_gathered_in_order_whatever_order_they_come_in() -> None:
    rows = [(span, path) for span in (MARCH, LAST) for path in WAYS]
    found = computed(*rows).periods
    assert found == computed(*reversed(rows)).periods
    assert found == (PeriodPaths(*LAST, tuple(WAYS)), PeriodPaths(*MARCH, tuple(WAYS)))


def test_periods_have_the_names_of_months_in_the_time_zone() -> None:
    made = computed((MARCH, WAYS[0]), (LAST, WAYS[1]))
    assert [made.name_of(period) for period in made.periods] == ["last_30_days", "2026-03"]
    assert [made.name_of(period) for period in made.latest()] == ["2026-03", "last_30_days"]


def test_the_hash_changes_with_each_thing_that_counts() -> None:
    plain = computed((MARCH, WAYS[0]))
    assert computed((MARCH, WAYS[0])).hashes == plain.hashes
    others = [
        computed((MARCH, WAYS[1])),
        computed((MARCH, WAYS[0]._replace(conversions=3))),
        computed((MARCH, WAYS[0]._replace(value=10.4))),
        computed((MARCH, WAYS[0]._replace(nulls=0))),
        computed((LAST, WAYS[0])),
        computed((MARCH, WAYS[0]), (LAST, WAYS[0])),
    ]
    hashes = {other.hashes["paths_sha256"] for other in others} | {plain.hashes["paths_sha256"]}
    assert len(hashes) == len(others) + 1
    assert {other.hashes["rules_sha256"] for other in others} == {plain.hashes["rules_sha256"]}
    assert (
        computed((MARCH, WAYS[0]), look_back_days="31").hashes["rules_sha256"] != plain.hashes["rules_sha256"]
    )


def test_rows_sum_to_the_conversions_and_their_value() -> None:
    rows = computed(*((MARCH, path) for path in WAYS)).rows("7")
    assert {(row["model"], row["channel"]) for row in rows} == {
        (model, channel) for model in ("markov", "shapley") for channel in ("a", "b")
    }
    for model in ("markov", "shapley"):
        of = [row for row in rows if row["model"] == model]
        assert sum(float(str(row["conversions"])) for row in of) == pytest.approx(2)
        assert sum(float(str(row["reporting_value"])) for row in of) == pytest.approx(10.5)
        assert {row["model_version"] for row in of} == {"7"}


def test_metrics_are_a_series_over_months_and_apart_for_the_last_30_days() -> None:
    reported = {
        (prefix, step): figures
        for prefix, step, figures in computed((MARCH, WAYS[0]), (MARCH, WAYS[1]), (LAST, WAYS[0])).metrics()
    }
    assert set(reported) == {("", 202603), ("last_30_days/", 0)}
    month = reported["", 202603]
    assert (month["paths"], month["conversions"], month["nulls"]) == (2, 2, 4)
    assert month["conversion_probability"] == pytest.approx(2 / 6)
    assert month["shapley/a"] == 1


def test_a_file_of_paths_is_one_that_attribute_reads() -> None:
    (period,) = computed(*((MARCH, path) for path in WAYS)).periods
    rows = list(csv.DictReader(io.StringIO(period.as_csv())))
    assert rows[0] == {"path": "a > b", "conversions": "2", "value": "10.5", "nulls": "1"}


def test_a_month_that_is_the_last_30_days_is_named_after_them() -> None:
    april = datetime(2026, 4, 1, tzinfo=timezone.utc)
    may = april + timedelta(days=30)
    made = ModelRun(may, "UTC", gather([(april, may, WAYS[0])]), {})
    assert [made.name_of(period) for period in made.latest()] == ["last_30_days"]
