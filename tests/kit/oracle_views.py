"""Test oracle for view-through: compares each visit with all impressions of its visitor."""

from kit.oracle_wire import DAY, Fields

_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")
_MORE = ("campaign_term", "campaign_content", "campaign_id", "click_id", "click_id_kind", "promotion_id")


def view_of(
    session: Fields, seen: list[Fields], clicked: list[Fields], channels: dict[str, str]
) -> Fields | None:
    """The impression that led to a visit without a click.

    Args:
        session: a row of silver.sessions.
        seen: impressions of its visitor.
        clicked: counted clicks of its visitor.
        channels: channel of each impression as a touch, by UID.
    """
    best: Fields | None = None
    for event in seen:
        before = (event["event_time"], event["event_id"]) < (session["started_at"], session["first_event_id"])
        if before and _match(event, session) and (best is None or _when(event) > _when(best)):
            best = event
    if best is None or session["started_at"] >= best["event_time"] + DAY:
        return None
    if any(best["event_time"] <= click["event_time"] <= session["started_at"] for click in clicked):
        return None
    return {
        "at": best["event_time"],
        "channel": channels[best["event_id"]],
        "matched_on": _match(best, session),
        **{name: best[name] for name in ("event_id", "url", "referrer", *_CAMPAIGN, *_MORE)},
    }


def _match(event: Fields, session: Fields) -> str | None:
    if event["promotion_id"] is not None:
        if session["campaign_name"] == event["promotion_id"]:
            return "promotion"
        if session["campaign_id"] == event["promotion_id"]:
            return "promotion"
    same = all(event[name] is not None and event[name] == session[name] for name in _CAMPAIGN)
    return "campaign" if same else None


def _when(event: Fields) -> tuple[int, str]:
    return event["event_time"], event["event_id"]


def view_touches(journey: list[Fields], earliest: int) -> list[Fields]:
    """The impressions that led to visits, as touches, not before a time."""
    touches: dict[str, Fields] = {}
    for visit in journey:
        view = visit["view"]
        if view and view["at"] >= earliest and view["event_id"] not in touches:
            own = {"touch_id": view["event_id"], "touched_at": view["at"], "kind": "view"}
            touches[view["event_id"]] = {**visit, **view, **own}
    return list(touches.values())
