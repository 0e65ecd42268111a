"""A run that has caught up leaves nothing to sum up again for the next one."""

import json
from typing import Any

from deltalake import DeltaTable

from kit.home import Home
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES


def last_metadata(home: Home, name: str) -> dict[str, Any]:
    history = DeltaTable(home.settings.warehouse.joinpath(*name.split("."))).history()
    found: dict[str, Any] = next(
        json.loads(each["userMetadata"]) for each in history if "userMetadata" in each
    )
    return found


def test_run_records_that_it_has_summarized_all_minutes(caught_up_home: Home) -> None:
    sequence = last_metadata(caught_up_home, VISITOR_MINUTES.name)["sequence"]
    assert last_metadata(caught_up_home, TRAFFIC.name)["summarized"] == sequence > 0
