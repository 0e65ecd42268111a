"""Test oracle for the trail of one conversion: walks through all events of its visit."""

from kit.oracle_wire import Fields


def trail_of(conversion: Fields, anchor: Fields, clicks: list[Fields], visited: list[Fields]) -> list[Fields]:
    """Rows of gold.trails.

    Args:
        conversion: the conversion of the trail.
        anchor: the conversion that got the touches: the order of a refund, else itself.
        clicks: touches and other clicks of the look-back window, in order.
        visited: events of the anchor's session, in order.
    """
    steps: list[Fields] = []
    if anchor["visit"]:
        clicks = [each for each in clicks if not (each["kind"] == "click" and each["is_server_event"])]
        before, within = _walk(anchor, clicks, visited)
        steps += _sorted(_led(anchor, clicks) + _viewed(anchor, clicks) + before)
        steps.append({"kind": "visit", "matched_on": "session", **anchor["visit"]})
        steps += [step for step in _sorted(within) if step not in steps]
    if anchor is not conversion:
        steps.append({"kind": "goal", "matched_on": "order", **step_event(anchor, anchor["converted_at"])})
    steps.append({"kind": "goal", "matched_on": None, **step_event(conversion, conversion["converted_at"])})
    same = {name: conversion[name] for name in ("conversion_id", "converted_at")}
    return [{"promotion_id": None, **step, **same, "step": number} for number, step in enumerate(steps, 1)]


def _led(anchor: Fields, clicks: list[Fields]) -> list[Fields]:
    """The last click that led to the visit. On-site clicks in the visit are handled by `_walk`."""
    for click in reversed(clicks):
        tie = _tie(click, anchor) if click["kind"] == "click" else None
        if tie and (tie != "session" or click["channel"] != "On-site"):
            return _of_click(click, tie)
    return []


def _viewed(anchor: Fields, touches: list[Fields]) -> list[Fields]:
    """The impression that led to the visit without a click."""
    for touch in touches:
        if touch["touch_id"] == anchor["visit"]["session_id"] and touch["view"]:
            view = touch["view"]
            more = {name: view[name] for name in ("at", "promotion_id", "matched_on")}
            return [{"kind": "view", **step_event(view, view["at"]), **more}]
    return []


def _walk(anchor: Fields, clicks: list[Fields], visited: list[Fields]) -> tuple[list[Fields], list[Fields]]:
    """Steps within the visit: before the first page view, and from it on."""
    on_site = {click["event_id"]: click for click in clicks if click["channel"] == "On-site"}
    before: list[Fields] = []
    within: list[Fields] = []
    passed = before
    for event in visited:
        if event["role"] == "page_view":
            if (event["event_time"], event["event_id"]) < (anchor["converted_at"], anchor["event_id"]):
                passed = within
                if event["event_id"] != anchor["visit"]["event_id"]:
                    within.append({"kind": "page_view", "matched_on": "session", **step_event(event)})
        elif event["event_id"] in on_site:
            passed += _of_click(on_site[event["event_id"]], "session")
    return before, within


def _of_click(click: Fields, tie: str) -> list[Fields]:
    promotion = {"promotion_id": click["promotion_id"]}
    at_click = {**step_event(click, click["touched_at"]), **promotion}
    steps = [{"kind": "click", "matched_on": tie, **at_click}]
    if click["impression"]:
        steps.append({"kind": "impression", "matched_on": "promotion", **click["impression"], **promotion})
    return steps


def _sorted(steps: list[Fields]) -> list[Fields]:
    """Distinct steps, by time, impressions first, then by UID."""
    once = [step for number, step in enumerate(steps) if step not in steps[:number]]
    return sorted(
        once, key=lambda step: (step["at"], step["kind"] not in ("impression", "view"), step["event_id"])
    )


def _tie(click: Fields, anchor: Fields) -> str | None:
    """The key that matches a click with the visit of a conversion."""
    visit = anchor["visit"]
    if click["visitor_id"] == anchor["visitor_id"] and click["touched_at"] >= visit["at"]:
        return "session"
    if click["touched_at"] > visit["at"]:
        return None
    clicked, began, came_from = (
        (each or "").split("#")[0] for each in (click["url"], visit["url"], visit["referrer"])
    )
    none = click["url"] is None
    if not none and visit["url"] is not None and clicked == began:
        return "url"
    return "referrer" if not none and visit["referrer"] is not None and clicked == came_from else None


def step_event(event: Fields, at: int | None = None) -> Fields:
    """The fields of a step that come from its event."""
    reported = {name: event[name] for name in ("event_id", "url", "referrer")}
    return {**reported, "at": event["event_time"] if at is None else at}
