"""Without the input that caused a change, the oracle computes the row before the change."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from kit.caused_changes import changes_with_causes
from kit.change_folding import assert_feed_folds
from kit.consent_stories import stating
from kit.records import NOON, rate
from kit.scenarios import in_time, rate_records, rush_events, search_events, story_events
from kit.simulated_jobs import CREDIT, DAYS, FOLDED, SimulatedJobs
from kit.undoing import assert_undone
from lakehouse.contracts import TABLES
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.exposures import IMPRESSIONS
from lakehouse.settings import load_settings
from serving.causes.causes import Causes

WITHOUT_EXPIRY = pytest.mark.xfail(strict=False, reason="no impression of these stories expires alone")
CHECKED_TABLES = (*FOLDED, CONSENTS.name, *CREDIT, *DAYS, "gold.traffic")
WATERMARK_TABLES = (*FOLDED, "gold.conversions", "gold.traffic")
SAMPLE_SIZES = [4, pytest.param(30, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> SimulatedJobs:
    """Scenarios in eight commits: late events, duplicates, shared orders, consent, rates and bots."""
    home = tmp_path_factory.mktemp("home")
    events = stating(story_events(25), seed=3) + rate_records() + rush_events() + search_events(4)
    return SimulatedJobs(home, [*in_time(events, 8), [rate("USD", 2, NOON)]])


def changes_of(jobs: SimulatedJobs, name: str) -> list[dict[str, Any]]:
    causes = Causes(load_settings(home=jobs.warehouse.parent))
    return changes_with_causes(jobs.warehouse, name, causes)


@pytest.mark.parametrize("count", SAMPLE_SIZES)
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=WITHOUT_EXPIRY if each == IMPRESSIONS.name else ()) for each in CHECKED_TABLES],
)
def test_row_reverts_to_previous_value_without_its_cause(jobs: SimulatedJobs, name: str, count: int) -> None:
    changes = changes_of(jobs, name)
    kinds = Counter("+".join(sorted(each["caused_by"])) for each in changes)
    assert kinds["events"] > 3, kinds
    assert not kinds["job"], kinds
    assert bool(kinds["rates"]) == (name in ("gold.conversions", "gold.attribution")), kinds
    assert bool(kinds["watermark"]) == (name in WATERMARK_TABLES), kinds
    sampled = Random(0).sample(changes, min(count, len(changes)))
    assert_undone(jobs.history, TABLES[name], jobs.states, sampled)


@pytest.mark.parametrize("name", ["silver.sessions", "gold.conversions", "gold.visitor_minutes"])
def test_folded_change_feed_equals_the_table(jobs: SimulatedJobs, name: str) -> None:
    layer, short = name.split(".")
    assert_feed_folds(jobs.warehouse / layer / short, TABLES[name], begins=[0])


def test_undo_check_detects_missing_event_in_cause(jobs: SimulatedJobs) -> None:
    changes = changes_of(jobs, "silver.sessions")
    several = [each for each in changes if len(each["caused_by"].get("events", ())) > 1 and each["before"]]
    change = {**several[0], "caused_by": {"events": several[0]["caused_by"]["events"][1:]}}
    with pytest.raises(AssertionError, match="of 1 changes"):
        assert_undone(jobs.history, TABLES["silver.sessions"], jobs.states, [change])
