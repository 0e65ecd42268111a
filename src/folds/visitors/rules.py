"""The rule numbers that visitor folds go by, in microseconds: converted once, not for each visitor."""

from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from folds.rule_numbers import RuleNumbers

_MICROSECOND = timedelta(microseconds=1)


class ExposureRule(NamedTuple):
    """How one kind of exposure and its clicks go together.

    Args:
        exposure: role of the exposure.
        click: role of its clicks.
        span: a click this long or longer after the exposure does not belong to it.
        pause: a click counts if it comes this long or longer after the last counted one.
        reach: an exposure or orphan this far or farther behind a time is not changed by what happens from
            then on. Its counted clicks are less than `span` after it, so the last is more than a pause back.
    """

    exposure: str
    click: str
    span: int
    pause: int
    reach: int


class VisitorRules(NamedTuple):
    """The session gap, the rules of impressions and searches, and which goals are refunds."""

    session_gap: int
    impressions: ExposureRule
    searches: ExposureRule
    refunds: frozenset[str] = frozenset()

    @classmethod
    def of(cls, numbers: RuleNumbers, refunds: Iterable[str] = ()) -> "VisitorRules":
        """The rules that conf/rules.yml gives; refunds matter to goals alone."""
        gap, pause = numbers.session_gap // _MICROSECOND, numbers.click_pause // _MICROSECOND
        seen, searched = numbers.impression_span // _MICROSECOND, numbers.search_span // _MICROSECOND
        return cls(
            gap,
            ExposureRule("impression", "click", seen, pause, seen + pause),
            ExposureRule("search", "result_click", searched, 0, searched),
            frozenset(refunds),
        )
