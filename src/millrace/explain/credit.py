"""Explains the arithmetic of credits as text."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

from folds.persons.models import DIRECT
from folds.rule_numbers import RuleNumbers
from millrace.explain.durations import readable

Touch = tuple[str, timedelta]  # channel, and how long before the conversion


def work_out(model: str, touches: Sequence[Touch], numbers: RuleNumbers) -> list[str]:
    """The computation of each touch's credit.

    Args:
        model: a name in `folds.persons.models.MODELS`.
        touches: touches of one conversion, earliest first; without touches, Direct gets the credit.
        numbers: numbers of the rules.

    Returns:
        One line per touch; one line without touches.
    """
    if not touches:
        return ["no touch in the look-back: all of it is Direct's"]
    if model == "position_based":
        return _position_based(touches, numbers.position_ends)
    if model == "time_decay":
        return _time_decay(touches, numbers.half_life)
    return _WORK[model](touches)


def explain_value_split(
    value: Decimal | None, credits_: Sequence[float], given: Sequence[Decimal | None]
) -> list[str]:
    """The computation of each touch's share of the value: credit × value, with the rounding remainder.

    Args:
        value: value of the conversion.
        credits_: credits of its touches.
        given: shares in the table.
    """
    lines = []
    for credit, part in zip(credits_, given, strict=True):
        if value is None or part is None:
            lines.append("not known")
            continue
        exact = Decimal(repr(credit)) * value
        rounded = exact.quantize(Decimal("0.0001"), "ROUND_HALF_UP")
        rest = part - rounded
        left = f" ({rest:+f} left by rounding)" if rest else ""
        lines.append(f"{credit:.6g} × {value:f} = {part:f}{left}")
    return lines


def _first(touches: Sequence[Touch]) -> list[str]:
    return ["the first" if number == 0 else "not the first" for number in range(len(touches))]


def _last(touches: Sequence[Touch]) -> list[str]:
    last = len(touches) - 1
    return ["the last" if number == last else "not the last" for number in range(len(touches))]


def _last_non_direct(touches: Sequence[Touch]) -> list[str]:
    others = [number for number, touch in enumerate(touches) if touch[0] != DIRECT]
    if not others:
        return [f"{line}, and all are Direct" for line in _last(touches)]

    def say(number: int, touch: Touch) -> str:
        if number == others[-1]:
            return "the last that is not Direct"
        return "Direct" if touch[0] == DIRECT else "not the last that is not Direct"

    return [say(number, touch) for number, touch in enumerate(touches)]


def _linear(touches: Sequence[Touch]) -> list[str]:
    return [f"1 / {len(touches)}"] * len(touches)


def _position_based(touches: Sequence[Touch], ends: float) -> list[str]:
    between = len(touches) - 2
    if between <= 0:
        return _linear(touches)
    middle = f"{1 - 2 * ends:.2g} / {between}, between"
    return [f"{ends}, the first", *[middle] * between, f"{ends}, the last"]


def _time_decay(touches: Sequence[Touch], half_life: timedelta) -> list[str]:
    weights = [2.0 ** -(age / half_life) for _, age in touches]
    return [
        f"2^-({readable(age)} / {readable(half_life)}) = {weight:.6g}, of {sum(weights):.6g}"
        for (_, age), weight in zip(touches, weights, strict=True)
    ]


_WORK = {
    "first": _first,
    "last": _last,
    "last_non_direct": _last_non_direct,
    "linear": _linear,
}
