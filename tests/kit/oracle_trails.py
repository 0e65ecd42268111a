"""The trail of one conversion once more, naively."""

from kit.oracle_wire import Fields


def trail_of(conversion: Fields, anchor: Fields, journey: list[Fields]) -> list[Fields]:
    """Rows of gold.trails: of a conversion, by the one whose touches count and these touches, in order."""
    visit = anchor["visit"]
    steps = []
    for click in reversed(journey):
        tie = _tie(click, anchor) if click["kind"] == "click" else None
        if tie:
            promotion = {"promotion_id": click["promotion_id"]}
            if click["impression"]:
                seen = {"kind": "impression", "matched_on": "promotion", **click["impression"]}
                steps.append({**seen, **promotion})
            at_click = {**step_event(click, click["touched_at"]), **promotion}
            steps.append({"kind": "click", "matched_on": tie, **at_click})
            break
    steps.append({"kind": "visit", "matched_on": "session", **visit})
    if anchor is not conversion:
        steps.append({"kind": "goal", "matched_on": "order", **step_event(anchor, anchor["converted_at"])})
    steps.append({"kind": "goal", "matched_on": None, **step_event(conversion, conversion["converted_at"])})
    same = {name: conversion[name] for name in ("conversion_id", "converted_at")}
    return [{"promotion_id": None, **step, **same, "step": number} for number, step in enumerate(steps, 1)]


def _tie(click: Fields, anchor: Fields) -> str | None:
    """What ties a click to the visit that a conversion came in."""
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
    """What a step says of its event."""
    told = {name: event[name] for name in ("event_id", "url", "referrer")}
    return {**told, "at": event["event_time"] if at is None else at}
