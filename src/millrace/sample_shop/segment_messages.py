"""Encodes steps as Segment messages, with timestamps of device and server."""

import json
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from random import Random
from typing import Any

from millrace.sample_shop.action import Step
from millrace.sample_shop.visitors import uuid

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_BROWSER = {"name": "analytics.js", "version": "2.11.1"}
_APP = {"name": "analytics-swift", "version": "1.7.3"}
_SERVER = {"name": "analytics-node", "version": "2.2.1"}


def stamp(second: float) -> str:
    """An epoch second as RFC 3339 in UTC, with milliseconds."""
    milliseconds = round(second * 1000)
    return f"{_to_the_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"


def write(step: Step, arrival: float, waited: float, rng: Random) -> bytes:
    """The bytes of a step that arrives now.

    Args:
        step: the step; its `message` and `value` are set.
        arrival: arrival time by the server's clock, epoch seconds.
        waited: seconds from the action to its arrival.
        rng: random generator.
    """
    transit = min(rng.uniform(0.02, 0.4), waited)
    device = arrival + step.visitor.clock_error if not step.server else arrival
    message: dict[str, Any] = {
        "messageId": uuid(rng),
        "type": step.kind,
        "originalTimestamp": stamp(device - waited),
        "sentAt": stamp(device - transit),
        "receivedAt": stamp(arrival),
        "context": _context(step),
    }
    if abs(step.visitor.clock_error) < 2 and rng.random() < 0.01:
        del message["sentAt"]  # some clients send no `sentAt`, which is harmless with an exact clock
    _add_identity(message, step)
    _add_content(message, step)
    step.message, step.value = message, encode(message)
    return step.value


def encode(message: dict[str, Any]) -> bytes:
    """A message as compact JSON in UTF-8."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def _add_identity(message: dict[str, Any], step: Step) -> None:
    if not (step.server and step.user_id):
        message["anonymousId"] = step.visitor.anonymous_id
    if step.user_id:
        message["userId"] = step.user_id


def _add_content(message: dict[str, Any], step: Step) -> None:
    if step.kind == "track":
        message["event"] = step.name
    elif step.name:
        message["name"] = step.name
    if step.kind == "alias":
        message |= step.properties
    elif step.kind in ("identify", "group"):
        traits = dict(step.properties)
        if "groupId" in traits:
            message["groupId"] = traits.pop("groupId")
        message["traits"] = traits
    else:
        message["properties"] = step.properties


def _context(step: Step) -> dict[str, Any]:
    if step.server:
        return {"library": _SERVER}
    visitor = step.visitor
    context: dict[str, Any] = {"library": _APP if visitor.is_app else _BROWSER}
    if step.page:
        context["page"] = step.page
    if step.campaign:
        context["campaign"] = step.campaign
    context["userAgent"] = visitor.user_agent
    context["locale"] = visitor.locale
    context["timezone"] = visitor.timezone
    context["ip"] = visitor.ip
    return context


@lru_cache(maxsize=4096)
def _to_the_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
