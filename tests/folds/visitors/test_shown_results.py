"""The hand-worked cases of shown_results.yml through the search fold and the oracle."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from folds.rule_numbers import RuleNumbers
from folds.visitors.results import affected_spans, find_results
from folds.visitors.rules import VisitorRules
from kit.oracle_results import search_results
from kit.oracle_wire import MINUTE, SECOND, Fields
from kit.result_stories import to_search_events
from kit.visitor_stories import NOON

CASES = yaml.safe_load(Path(__file__).with_name("shown_results.yml").read_text())
RULE = VisitorRules.of(RuleNumbers()).searches
ROLES = {"search": "search", "results": "results", "click": "result_click"}


def time_of(text: str) -> int:
    minutes, seconds = text.split(":")
    return NOON + int(minutes) * MINUTE + round(float(seconds) * SECOND)


def events_of(case: dict[str, Any]) -> list[Fields]:
    found = []
    for number, each in enumerate(case["events"]):
        (kind,) = ROLES.keys() & each.keys()
        words = each[kind]
        search_id = each.get("id")
        found.append(
            {
                "event_id": each.get("uid", f"e{number}"),
                "visitor_id": "v",
                "event_time": time_of(each["at"]),
                "role": ROLES[kind],
                "query": None if kind == "click" else words,
                "search_id": None if search_id is None else str(search_id),
                "product_id": words if kind == "click" else None,
                "shown_products": each.get("shows"),
            }
        )
    return found


def expected(case: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Search, rank, product, outcome, first click and due time, of each row."""
    both = zip(case["events"], events_of(case), strict=True)
    by_time = {each["at"]: event for each, event in both if "search" in each}
    found = []
    for name, rows in case["shown"].items():
        uid, at = (by_time[name]["event_id"], time_of(name)) if name in by_time else (name, NOON)
        for rank, text in enumerate(rows, 1):
            product, outcome, *click = text.split()
            clicked_at = time_of(click[0]) if click else None
            due_at = at + 10 * MINUTE if outcome == "open" else None
            found.append((uid, rank, None if product == "~" else product, outcome, clicked_at, due_at))
    return sorted(found)


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_shown_results_match_hand_worked_case(case: dict[str, Any]) -> None:
    events, watermark = events_of(case), time_of(case.get("watermark", "60:00"))
    names = ("search_event_id", "rank", "product_id", "outcome", "first_click_at", "due_at")
    whole = [(NOON - MINUTE, NOON + 60 * MINUTE)]
    found = find_results("v", to_search_events(events), whole, RULE, watermark)
    assert sorted(tuple(getattr(row, name) for name in names) for row in found) == expected(case)
    assert all(row.is_open == (row.outcome == "open") for row in found)
    by_oracle = search_results(events, watermark)
    assert sorted(tuple(row[name] for name in names) for row in by_oracle) == expected(case)


def test_affected_spans_cover_only_searches_an_event_may_change() -> None:
    assert affected_spans([], 10) == []
    assert affected_spans([100], 10) == [(91, 101)]
    assert affected_spans([100, 100, 111, 110], 10) == [(91, 112)]
    assert affected_spans([111, 100], 10) == [(91, 101), (102, 112)]
