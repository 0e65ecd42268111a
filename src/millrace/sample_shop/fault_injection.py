"""Faults between a device and Kafka: broken records, and records that are sent twice."""

from datetime import timedelta
from random import Random

from millrace.sample_shop.action import Step
from millrace.sample_shop.segment_messages import encode, stamp

_HOUR = timedelta(hours=1).total_seconds()


def corrupt(step: Step, arrival: float, rng: Random) -> bytes:
    """The bytes of a step, damaged in one of the ways that occur in real streams, or with a wrong clock."""
    message, value = dict(step.message), step.value
    damage = rng.randrange(9)
    if damage == 0:
        return value[: rng.randrange(1, len(value))]
    if damage == 1:
        cut = rng.randrange(1, len(value))
        return value[:cut] + b"\xff\xfe\xc3(" + value[cut:]
    if damage == 2:
        return b""
    if damage == 3:
        return value + value
    if damage == 4:
        del message["messageId"]
    elif damage == 5:
        message["messageId"] = rng.choice(("", "m" * 300))
    elif damage == 6:
        message["type"] = rng.choice(("pageview", "", None))
    elif damage == 7:
        message.pop("anonymousId", None)
        message.pop("userId", None)
    else:
        message.pop("sentAt", None)
        message["originalTimestamp"] = stamp(arrival + rng.uniform(1, 48) * _HOUR)
    return encode(message)


def sent_again(step: Step, arrival: float, waited: float, rng: Random) -> bytes:
    """The bytes of a step that is sent again: identical, or with new `sentAt` and `receivedAt`."""
    if rng.random() < 0.5 or "sentAt" not in step.message:
        return step.value
    device = arrival + (0.0 if step.server else step.visitor.clock_error)
    again = {"sentAt": stamp(device - min(0.05, waited)), "receivedAt": stamp(arrival)}
    return encode(step.message | again)
