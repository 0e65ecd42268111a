"""Generated refunds and cancellations of few orders, close in time and in several currencies."""

from decimal import Decimal

from hypothesis import strategies as st

from kit.oracle import Oracle
from kit.oracle_wire import DAY, Fields
from kit.person_stories import START, PersonStory, build_event, story_of

_GOALS = ("Order Completed", *["Order Refunded"] * 5, "Order Cancelled")
_VALUES = (None, "0", "0.0001", "3.3333", "-10", "15", "35", "50", "100", "99999999999999.9999")
_ORDER_VALUES = (*["50", "100"] * 3, None, "0", "-5", "1.6", "99999999999999.9999")
_ONE_CURRENCY = ("USD", "USD", "usd", None)
_CURRENCIES = ("EUR", "USD", "USD", "GBP", "JPY", None)
_DAYS = (-2, 0, 0, 1, 2, 3)
_RATES = ("0.9", "1.1523456789", "50000", "0.0000333300", "0.0000000001")


@st.composite
def refund_stories(draw: st.DrawFn) -> PersonStory:
    """Stories of up to ten goal events of two orders. UIDs, times and the order of events are independent."""
    currencies = draw(st.sampled_from((_ONE_CURRENCY, _CURRENCIES)))
    uids = draw(st.permutations(range(draw(st.integers(2, 10)))))
    events = [_goal(draw, f"e{uid:02}", currencies) for uid in uids]
    rates = [
        {"currency": code, "rate": Decimal(rate).quantize(Decimal("1e-10")), "valid_from": START + day * DAY}
        for code, day, rate in draw(_told_rates())
    ]
    return story_of(Oracle(events=events, told_rates=rates, watermark=START))


def _goal(draw: st.DrawFn, uid: str, currencies: tuple[str | None, ...]) -> Fields:
    goal = draw(st.sampled_from(_GOALS))
    value = draw(st.sampled_from(_ORDER_VALUES if goal == "Order Completed" else _VALUES))
    at = START + draw(st.sampled_from(_DAYS)) * DAY
    visitor, order = draw(st.sampled_from("aaabr")), draw(st.sampled_from("1112"))
    currency, refund = draw(st.sampled_from(currencies)), draw(st.sampled_from((None, None, "x", "y", "z")))
    kind = ("track", "goal", goal)
    return build_event(
        uid, at, visitor, kind, None, "p", {}, "Direct", None, None, order, value, currency, refund
    )


def _told_rates() -> st.SearchStrategy[list[tuple[str, int, str]]]:
    rate = st.tuples(*map(st.sampled_from, (("USD", "GBP"), (-3, 1), _RATES)))
    return st.lists(rate, max_size=4, unique_by=lambda each: each[:2])
