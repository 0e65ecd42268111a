"""Paths by period: names, hashes, credit and metrics, and the CSV made of the paths."""

import csv
import io
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

from gold.rules.model_run import ModelRun
from gold.rules.paths import Path
from gold.rules.period_paths import FIGURES, LAST_DAYS, PeriodCredit, PeriodPaths

Span = tuple[datetime, datetime]
WATERMARK = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
MARCH = (datetime(2026, 2, 28, 23, tzinfo=timezone.utc), datetime(2026, 3, 31, 22, tzinfo=timezone.utc))
LAST = (WATERMARK - LAST_DAYS, WATERMARK)
PATHS = [Path(("a", "b"), 2, 10.5, 1), Path(("b",), 0, 0.0, 3)]
RULES = {"look_back_days": "30"}


def credit_of(span: Span, paths: list[Path]) -> PeriodCredit:
    period = PeriodPaths.of(paths)
    credited: dict[str, dict[str, float]] = defaultdict(dict)
    for model, channel, conversions, _ in period.credits():
        credited[model][channel] = conversions
    figures = dict(zip(FIGURES, period.figures(), strict=True))
    return PeriodCredit(*span, figures, period.digest(), credited)


def computed(*rows: tuple[Span, Path], **rules: str) -> ModelRun:
    by_span: dict[Span, list[Path]] = defaultdict(list)
    for span, path in rows:
        by_span[span].append(path)
    periods = tuple(credit_of(span, by_span[span]) for span in sorted(by_span))
    return ModelRun(WATERMARK, "Europe/Berlin", periods, {**RULES, **rules})


def test_paths_are_independent_of_input_order() -> None:
    period = PeriodPaths.of(PATHS)
    assert period == PeriodPaths.of(reversed(PATHS))
    assert period.paths == tuple(PATHS)


def test_periods_are_named_after_months_in_the_time_zone() -> None:
    made = computed((MARCH, PATHS[0]), (LAST, PATHS[1]))
    assert [made.name_of(period) for period in made.periods] == ["last_30_days", "2026-03"]
    assert [made.name_of(period) for period in made.latest()] == ["2026-03", "last_30_days"]


def test_hashes_change_with_paths_periods_and_rules() -> None:
    plain = computed((MARCH, PATHS[0]))
    assert computed((MARCH, PATHS[0])).hashes == plain.hashes
    others = [
        computed((MARCH, PATHS[1])),
        computed((MARCH, PATHS[0]._replace(conversions=3))),
        computed((MARCH, PATHS[0]._replace(value=10.4))),
        computed((MARCH, PATHS[0]._replace(nulls=0))),
        computed((LAST, PATHS[0])),
        computed((MARCH, PATHS[0]), (LAST, PATHS[0])),
    ]
    hashes = {other.hashes["paths_sha256"] for other in others} | {plain.hashes["paths_sha256"]}
    assert len(hashes) == len(others) + 1
    assert {other.hashes["rules_sha256"] for other in others} == {plain.hashes["rules_sha256"]}
    assert (
        computed((MARCH, PATHS[0]), look_back_days="31").hashes["rules_sha256"]
        != plain.hashes["rules_sha256"]
    )


def test_credits_sum_to_conversions_and_value() -> None:
    found = list(PeriodPaths.of(PATHS).credits())
    assert {row[:2] for row in found} == {
        (model, channel) for model in ("markov", "shapley") for channel in ("a", "b")
    }
    for model in ("markov", "shapley"):
        of = [row for row in found if row[0] == model]
        assert sum(conversions for _, _, conversions, _ in of) == pytest.approx(2)
        assert sum(value or 0 for *_, value in of) == Decimal("10.5")


def test_metrics_are_monthly_series_apart_from_last_30_days() -> None:
    reported = {
        (prefix, step): figures
        for prefix, step, figures in computed(
            (MARCH, PATHS[0]), (MARCH, PATHS[1]), (LAST, PATHS[0])
        ).metrics()
    }
    assert set(reported) == {("", 202603), ("last_30_days/", 0)}
    month = reported["", 202603]
    assert (month["paths"], month["conversions"], month["nulls"]) == (2, 2, 4)
    assert month["conversion_probability"] == pytest.approx(2 / 6)
    assert month["shapley/a"] == 1


def test_path_csv_has_path_conversions_value_and_nulls() -> None:
    rows = list(csv.DictReader(io.StringIO(PeriodPaths.of(PATHS).as_csv())))
    assert rows[0] == {"path": "a > b", "conversions": "2", "value": "10.5", "nulls": "1"}


def test_month_equal_to_last_30_days_is_named_last_30_days() -> None:
    april = datetime(2026, 4, 1, tzinfo=timezone.utc)
    may = april + timedelta(days=30)
    made = ModelRun(may, "UTC", (credit_of((april, may), PATHS[:1]),), {})
    assert [made.name_of(period) for period in made.latest()] == ["last_30_days"]
