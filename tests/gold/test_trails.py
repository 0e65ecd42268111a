"""Which click a trail takes, on frames of a few rows."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gold.trails import follow_trails
from kit.records import NOON
from lakehouse.contracts.gold import TOUCHES

MINUTE = timedelta(minutes=1)
HOME, BLOG = "https://shop.example/", "https://blog.example/"
_SEEN = "event_id string, at timestamp, url string, referrer string"
_VISIT = f"struct<session_id: string, {_SEEN}, channel: string>"
JOURNEYS = (
    "conversion_id string, event_id string, converted_at timestamp, url string, referrer string, "
    f"position int, touch struct<{TOUCHES.ddl}>, "
    f"anchor struct<id: string, visitor: string, {_SEEN}, visit: {_VISIT}>"
)


def click(uid: str, visitor: str, at: datetime, url: str) -> dict[str, Any]:
    told = {"touch_id": uid, "event_id": uid, "visitor_id": visitor, "touched_at": at, "kind": "click"}
    return {**dict.fromkeys(TOUCHES.column_names), **told, "url": url}


@pytest.mark.parametrize(
    ("minutes", "url", "told"),
    [
        (10, HOME, ("own", "session")),  # after the visit began, so not what brought it
        (10, BLOG, ("own", "session")),
        (0, HOME, ("other", "url")),
        (-10, BLOG, ("other", "referrer")),
    ],
)
def test_a_click_elsewhere_brings_a_visit_that_begins_no_earlier(
    spark: SparkSession, minutes: int, url: str, told: tuple[str, str]
) -> None:
    visit = {"session_id": "s", "event_id": "page", "at": NOON, "url": HOME, "referrer": BLOG}
    goal = {"event_id": "order", "url": HOME, "referrer": None}
    at = NOON + 20 * MINUTE
    clicks = [
        click(
            "own", "v", NOON + 5 * MINUTE if minutes > 0 else NOON - 60 * MINUTE, "https://elsewhere.example/"
        ),
        click("other", "w", NOON + minutes * MINUTE, url),
    ]
    anchor = {"id": "c", "visitor": "v", "at": at, "visit": visit, **goal}
    rows = [
        {"conversion_id": "c", "converted_at": at, "position": n, "touch": each, "anchor": anchor, **goal}
        for n, each in enumerate(clicks, 1)
    ]
    steps = follow_trails(spark.createDataFrame(rows, JOURNEYS).coalesce(1)).where("kind = 'click'").collect()
    assert [(step.event_id, step.matched_on) for step in steps] == [told]
