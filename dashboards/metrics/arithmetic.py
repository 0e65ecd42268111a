"""Explains how a credit is computed, as text.

The numbers come from the table. A test compares these texts with those of the command line.
"""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

DIRECT = "Direct"
HALF_LIFE = timedelta(days=7)
ENDS = 0.4  # position_based: credit of the first and of the last touch each, if there are three or more

Touch = tuple[str, timedelta]  # channel, and time before the conversion

_DAY = timedelta(days=1)


def work_out(model: str, touches: Sequence[Touch]) -> list[str]:
    """Explain the credit of each touch.

    Args:
        model: a name of `query_scope.MODELS`.
        touches: touches of one conversion, earliest first. If there are none, Direct gets the credit.

    Returns:
        One line per touch; one line if there are no touches.
    """
    if not touches:
        return ["no touch in the look-back: all of it is Direct's"]
    count, last = len(touches), len(touches) - 1
    others = [number for number, (channel, _) in enumerate(touches) if channel != DIRECT]
    match model:
        case "first":
            return ["the first" if number == 0 else "not the first" for number in range(count)]
        case "last":
            return _last(count)
        case "last_non_direct" if not others:
            return [f"{line}, and all are Direct" for line in _last(count)]
        case "last_non_direct":
            return [_of_others(number, others[-1], channel) for number, (channel, _) in enumerate(touches)]
        case "position_based" if count > 2:
            between = f"{1 - 2 * ENDS:.2g} / {last - 1}, between"
            return [f"{ENDS}, the first", *[between] * (last - 1), f"{ENDS}, the last"]
        case "time_decay":
            return _decay(touches)
    return [f"1 / {count}"] * count


def share_out(value: Decimal | None, credits_: Sequence[float], given: Sequence[Decimal | None]) -> list[str]:
    """Explain the value of each touch: credit × value, plus the rounding difference.

    Args:
        value: value of the conversion.
        credits_: credits of its touches.
        given: value of each touch in the table.
    """
    lines = []
    for credit, part in zip(credits_, given, strict=True):
        if value is None or part is None:
            lines.append("not known")
            continue
        rest = part - (Decimal(repr(credit)) * value).quantize(Decimal("0.0001"), "ROUND_HALF_UP")
        left = f" ({rest:+f} left by rounding)" if rest else ""
        lines.append(f"{credit:.6g} × {value:f} = {part:f}{left}")
    return lines


def _last(count: int) -> list[str]:
    return ["the last" if number == count - 1 else "not the last" for number in range(count)]


def _of_others(number: int, chosen: int, channel: str) -> str:
    if number == chosen:
        return "the last that is not Direct"
    return "Direct" if channel == DIRECT else "not the last that is not Direct"


def _decay(touches: Sequence[Touch]) -> list[str]:
    weights = [2.0 ** -(age / HALF_LIFE) for _, age in touches]
    return [
        f"2^-({age / _DAY:.4g} d / {HALF_LIFE / _DAY:g} d) = {weight:.6g}, of {sum(weights):.6g}"
        for (_, age), weight in zip(touches, weights, strict=True)
    ]
