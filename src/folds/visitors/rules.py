"""Rules of the visitor folds, with times in microseconds: converted once, not for each visitor."""

from collections.abc import Iterable
from typing import NamedTuple

from folds.records.sites import NO_SITES, Sites
from folds.rule_numbers import RuleNumbers
from lakehouse.timestamps import span_micros


class ExposureRule(NamedTuple):
    """How clicks are assigned to one kind of exposure.

    Args:
        exposure: role of the exposure.
        click: role of its clicks.
        span: a click this long or longer after the exposure does not belong to it.
        pause: a click counts if it comes this long or longer after the last counted one.
        reach: events from a time on cannot change an exposure or orphan this long or longer before that time.
            Its counted clicks come less than `span` after it, so the last is more than a pause before that
            time.
    """

    exposure: str
    click: str
    span: int
    pause: int
    reach: int


class PromotionRule(NamedTuple):
    """How clicks on promotions, and impressions without a click, earn credit.

    Args:
        own_hosts: of the site itself.
        on_site_credit: whether a click on an on-site promotion is a touch.
        view_span: an impression this long or longer before a visit does not lead to it.
    """

    own_hosts: Sites
    on_site_credit: bool
    view_span: int


class VisitorRules(NamedTuple):
    """Rules of the visitor folds.

    Args:
        session_gap: an event this long or longer after the previous one starts a new session.
        continuation_span: a session may continue one that ended this long or less before.
        impressions: how clicks are assigned to impressions.
        searches: how clicks on results are assigned to searches.
        promotions: how promotions earn credit.
        refunds: goals that are refunds.
        campaign_touches: whether a campaign inside a session is a touch.
        of_sessions: custom dimensions whose value is that of the session's first event.
    """

    session_gap: int
    continuation_span: int
    impressions: ExposureRule
    searches: ExposureRule
    promotions: PromotionRule
    refunds: frozenset[str] = frozenset()
    campaign_touches: bool = True
    of_sessions: frozenset[str] = frozenset()

    @property
    def session_reach(self) -> int:
        """Events from a time on change no session that ended this long before, and continue none."""
        return max(self.session_gap, self.continuation_span + 1)

    @classmethod
    def of(
        cls,
        numbers: RuleNumbers,
        refunds: Iterable[str] = (),
        own_hosts: Sites = NO_SITES,
        of_sessions: frozenset[str] = frozenset(),
    ) -> "VisitorRules":
        """Build the rules from conf/; silver needs only the numbers.

        Args:
            numbers: of conf/rules.yml.
            refunds: goals that are refunds, of conf/roles.yml.
            own_hosts: of conf/channels.yml.
            of_sessions: of conf/dimensions.yml.
        """
        gap, pause = span_micros(numbers.session_gap), span_micros(numbers.click_pause)
        seen, searched = span_micros(numbers.impression_span), span_micros(numbers.search_span)
        return cls(
            gap,
            span_micros(numbers.continuation_span),
            ExposureRule("impression", "click", seen, pause, seen + pause),
            ExposureRule("search", "result_click", searched, 0, searched),
            PromotionRule(own_hosts, numbers.on_site_promotions == "credit", span_micros(numbers.view_span)),
            frozenset(refunds),
            numbers.campaign_in_session == "touch",
            of_sessions,
        )
