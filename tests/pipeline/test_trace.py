"""`millrace trace` over tables of real jobs: figures follow from their records, and Kafka has these."""

import json

import pytest

from kit.home import Home
from kit.traced_figures import assert_figure_follows_from_records, choose_figures, key_texts

pytestmark = pytest.mark.long

FIGURES = 100


def test_figures_of_real_jobs_follow_from_their_records(caught_up_home: Home) -> None:
    figures = choose_figures(caught_up_home.settings, FIGURES, seed=3)
    assert len(figures) == FIGURES
    for figure in figures:
        assert_figure_follows_from_records(caught_up_home.settings, *figure)


def test_records_are_the_bytes_in_kafka(caught_up_home: Home) -> None:
    for name, row in choose_figures(caught_up_home.settings, 12, seed=4):
        lines = caught_up_home.must("trace", name, *key_texts(name, row), "--compare", "--json").splitlines()
        assert {json.loads(line)["in_kafka"] for line in lines} <= {"same in Kafka"}


def test_status_shows_times_per_stage(caught_up_home: Home) -> None:
    stages = json.loads(caught_up_home.must("status", "--json"))["stages"]
    assert [stage["stage"] for stage in stages if stage["is_slowest"]]
    times = {stage["stage"]: stage["p95"] for stage in stages}
    assert all(times[stage] >= 0 for stage in ("Kafka", "bronze", "silver", "gold", "to gold"))


def test_tables_are_read_as_of_the_position_of_the_pages(caught_up_home: Home) -> None:
    tables = {"events": "silver.events", "windows": "gold.traffic", "bronze": "bronze.kafka_records"}
    counts = (f"(SELECT count(*) FROM {name}) AS {count}" for count, name in tables.items())
    query = f"SELECT {', '.join(counts)}"
    latest = caught_up_home.must("sql", "--json", query)
    assert caught_up_home.must("sql", "--json", "--as-of", "latest", query) == latest
