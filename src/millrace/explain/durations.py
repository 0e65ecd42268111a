"""Durations as people write them."""

from datetime import timedelta

_UNITS = (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1)))


def readable(span: timedelta) -> str:
    """A duration with three digits, in the largest unit of which it has at least one."""
    unit, length = next(
        ((unit, length) for unit, length in _UNITS if span >= length), ("s", timedelta(seconds=1))
    )
    return f"{span / length:.3g} {unit}"
