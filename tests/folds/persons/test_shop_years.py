"""A generated shop year in three currencies and any order of arrival: net value by plain arithmetic."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folds.persons.exchange_rates import ExchangeRates, Rate
from folds.persons.fold import PersonRows, PersonRules, fold_person
from folds.persons.records import Goal, Touch
from folds.persons.refunds import load_order_rules
from folds.rule_numbers import RuleNumbers
from folds.visitors.events import Event
from folds.visitors.goals import read_goals
from folds.visitors.sessions import SessionIndex
from kit.oracle_wire import DAY
from kit.published_rows import publish_batches
from lakehouse.settings import load_settings

ORDERS = load_order_rules(load_settings().conf)
NEW_YEAR = 20_454 * DAY
CURRENCIES = ("EUR", "USD", "GBP")
CENT = Decimal("0.0001")
AMOUNTS = st.decimals("0.01", "400", places=2)


@dataclass(frozen=True)
class Money:
    """An amount at a day of the year."""

    day: int
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Order:
    """An order, its refunds, and the days on which it was cancelled."""

    placed: Money
    refunds: list[Money]
    cancelled: list[int]


@dataclass(frozen=True)
class Shop:
    """Orders, and the EUR rates of USD and GBP by month of 30 days."""

    orders: list[Order]
    rates: dict[str, list[Decimal]]

    def worth(self, amount: Decimal, currency: str, day: int) -> Decimal:
        """An amount in EUR."""
        return (amount * self.rate(currency, day)).quantize(CENT, ROUND_HALF_UP)

    def rate(self, currency: str, day: int) -> Decimal:
        return Decimal(1) if currency == "EUR" else self.rates[currency][day // 30]


@st.composite
def orders(draw: st.DrawFn) -> Order:
    day = draw(st.integers(0, 364))
    currency = draw(st.sampled_from(CURRENCIES))
    other = st.sampled_from((currency, currency, currency, *CURRENCIES))
    money = st.builds(Money, st.integers(max(day - 3, 0), 364), AMOUNTS, other)
    days = st.lists(st.integers(0, 364), max_size=2)
    placed = Money(day, draw(AMOUNTS), currency)
    return Order(placed, draw(st.lists(money, max_size=3)), draw(st.one_of(st.just([]), days)))


RATES = st.lists(st.decimals("0.4", "1.6", places=4), min_size=13, max_size=13)
SHOPS = st.builds(
    Shop, st.lists(orders(), min_size=1, max_size=6), st.fixed_dictionaries({"USD": RATES, "GBP": RATES})
)


def net_of(shop: Shop) -> Decimal:
    """The net value of all orders, in EUR."""
    return sum((_net_of_order(shop, order) for order in shop.orders), Decimal(0))


def _net_of_order(shop: Shop, order: Order) -> Decimal:
    placed = order.placed
    earned = shop.worth(placed.amount, placed.currency, placed.day)
    if any(each.currency != placed.currency for each in order.refunds):
        given_back = sum(shop.worth(each.amount, each.currency, each.day) for each in order.refunds)
        return Decimal(0) if order.cancelled else max(earned - given_back, Decimal(0))
    left, net = placed.amount, earned
    for each in sorted(order.refunds, key=lambda refund: refund.day):  # those of a day have one rate
        counted = min(left, each.amount)
        left -= counted
        net -= shop.worth(counted, placed.currency, each.day)
    return net - shop.worth(left, placed.currency, placed.day) if order.cancelled else net


def events_of(shop: Shop) -> list[Event]:
    found: list[Event] = []

    def add(goal: str, order: int, day: int, money: Money | None = None) -> None:
        uid = f"e{len(found):03}"
        value = money and money.amount.quantize(CENT)
        found.append(
            Event(uid, "track", "goal", f"v{order}", NEW_YEAR + day * DAY, goal=goal, order_id=str(order),
                  value=value, currency=money and money.currency)
        )  # fmt: skip

    for number, order in enumerate(shop.orders):
        add("Order Completed", number, order.placed.day, order.placed)
        for refund in order.refunds:
            add("Order Refunded", number, refund.day, refund)
        for day in order.cancelled:
            add("Order Cancelled", number, day)
    return found


def rates_of(shop: Shop) -> ExchangeRates:
    rates = [
        Rate(currency, rate.quantize(Decimal("1e-10")), NEW_YEAR + month * 30 * DAY,
             NEW_YEAR + (month + 1) * 30 * DAY)
        for currency, by_month in shop.rates.items()
        for month, rate in enumerate(by_month)
    ]  # fmt: skip
    return ExchangeRates(rates, "EUR")


def fold(goals: Iterable[Goal], shop: Shop) -> PersonRows:
    touches = {
        f"v{number}": [_touch(f"{number}-{place}", order.placed.day - place) for place in range(3)]
        for number, order in enumerate(shop.orders)
    }
    return fold_person(goals, touches, (), 0, PersonRules.of(RuleNumbers(), rates_of(shop), ORDERS))


def _touch(uid: str, day: int) -> Touch:
    blank = Touch(*([None] * len(Touch._fields)))
    return blank._replace(touch_id=uid, touched_at=NEW_YEAR + day * DAY, channel="Email")


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(SHOPS, st.randoms(use_true_random=False), st.integers(1, 6))
def test_net_value_of_a_year_equals_plain_arithmetic(shop: Shop, chance, batches: int) -> None:
    goals = [
        Goal(**goal._asdict(), person_id=goal.visitor_id)
        for goal in read_goals(events_of(shop), SessionIndex([]), ORDERS.refunds.keys())
    ]
    chance.shuffle(goals)
    whole = fold(goals, shop)
    net = net_of(shop)
    assert sum(row.reporting_value for row in whole.conversions) == net
    assert sum(row.is_counted for row in whole.conversions) == len(shop.orders)
    for model in ("last", "linear", "time_decay"):
        credited = [row for row in whole.attribution if row.model == model]
        assert sum(row.credited_reporting_value for row in credited) == net
        counted = sum(row.credit for row in credited if row.is_counted)
        assert round(counted, 9) == len(shop.orders)
    parts = (goals[number::batches] for number in range(batches))
    published = publish_batches(parts, lambda some: fold(some, shop))
    assert sorted(published, key=str) == sorted(whole.conversions, key=str)
