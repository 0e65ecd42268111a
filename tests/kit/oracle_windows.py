"""Test oracle for traffic, campaigns, searches and the funnel, computed naively; days are UTC."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from kit.oracle_costs import ratio
from kit.oracle_credit import MODELS
from kit.oracle_gold import Gold, when
from kit.oracle_wire import DAY, MINUTE, Fields

_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")
_HOUR = 60 * MINUTE
_ZERO = Decimal("0.0000")
_SUMS = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions")
_STEPS = ("impression", "click", "visit", "search", "order")


class Windows:
    """Expected aggregates over all visitors.

    Args:
        gold: the oracle of conversions and touches.
        searches: silver.searches without bots.
        results: silver.search_results without bots.
        spent: cost by day and campaign.
    """

    def __init__(
        self,
        gold: Gold,
        searches: list[Fields],
        results: list[Fields],
        spent: Mapping[tuple[Any, ...], Decimal | None] | None = None,
    ) -> None:
        self.spent = spent or {}
        self.gold = gold
        self.events, self.clicks = self._counted(gold.events), self._counted(gold.counted_clicks)
        self.sessions = self._counted(gold.sessions, "first_event_id")
        self.conversions = self._counted(gold.conversions)
        self.searches = self._counted(searches)
        self.results = self._counted(results, "search_event_id")

    def _counted(self, rows: list[Fields], uid: str = "event_id") -> list[Fields]:
        """Rows of events with consent to analytics."""
        return [row for row in rows if self.gold.grants("analytics", row[uid])]

    @property
    def traffic(self) -> list[Fields]:
        """gold.traffic: every non-empty window, overall and by channel."""
        cells: dict[tuple[str, int, int, str | None], list[Fields]] = defaultdict(list)
        for fact in self._facts:
            for window in windows_of(fact["at"]):
                cells[(*window, None)].append(fact)
                if fact["channel"]:
                    cells[(*window, fact["channel"])].append(fact)
        rows = [self._window(*window, facts) for window, facts in cells.items()]
        return [row for row in rows if row["events"] or row["conversions"] or row["value"]]

    @cached_property
    def _facts(self) -> list[Fields]:
        counted = {click["event_id"] for click in self.clicks}
        starting = {session["first_event_id"] for session in self.sessions}
        facts = [
            {
                "at": event["event_time"],
                "visitor": event["visitor_id"],
                "of": event["visitor_id"],
                "events": 1,
                "channel": self._channel_of(event),
                "page_views": event["role"] == "page_view",
                "sessions": event["event_id"] in starting,
                "impressions": event["role"] == "impression",
                "clicks": event["event_id"] in counted,
                "searches": event["role"] == "search",
                "conversions": 0,
                "money": _ZERO,
            }
            for event in self.events
        ]
        nothing = dict.fromkeys(_SUMS, 0)
        return facts + [
            {**nothing, "at": each["converted_at"], "visitor": None, "channel": each["traffic_channel"],
             "of": each["visitor_id"], "conversions": each["is_counted"],
             "money": each["reporting_value"] or _ZERO}
            for each in self.conversions
        ]  # fmt: skip

    def _channel_of(self, event: Fields) -> str | None:
        session = self.gold.session_of(event) if event["type"] in ("page", "screen", "track") else None
        return session["channel"] if session else None

    def _window(self, kind: str, start: int, end: int, channel: str | None, facts: list[Fields]) -> Fields:
        money = sum((fact["money"] for fact in facts), _ZERO)
        return {
            "window_kind": kind,
            "window_start": start,
            "window_end": end,
            "channel": channel,
            "visitors": len({fact["visitor"] for fact in facts if fact["events"]}),
            **{name: sum(fact[name] for fact in facts) for name in _SUMS},
            "value": money,
            "reporting_value": money if abs(money) < 10**14 else None,
            "is_complete": end <= self.gold.watermark,
        }

    @property
    def campaigns(self) -> list[Fields]:
        """gold.campaign_performance."""
        counts: dict[tuple[date, str | None, str | None, str | None], Counter[str]] = defaultdict(Counter)
        for event in self.events:
            if event["role"] == "impression":
                counts[(day_of(event["event_time"]), *campaign_of(event))]["impressions"] += 1
        for click in self.clicks:
            counts[(day_of(click["event_time"]), *campaign_of(click))]["clicks"] += 1
        for session in self.sessions:
            of = campaign_of({**session, "promotion_id": None})
            counts[(day_of(session["started_at"]), *of)]["visits"] += 1
        earned: dict[tuple[object, ...], list[Fields]] = defaultdict(list)
        for row in self.gold.attribution:
            key = day_of(row["converted_at"]), *campaign_of(row)
            counts[key]["conversions"] += 0
            earned[(*key, row["model"])].append(row)
        for key in self.spent:
            counts[key]["visits"] += 0
        models = {row["model"] for row in self.gold.attribution} or set()
        models |= {"first", "last", "last_non_direct", "linear", "position_based", "time_decay"}
        rows = [
            {
                "day": key[0],
                **dict(zip(_CAMPAIGN, key[1:], strict=True)),
                "model": model,
                **{name: count[name] for name in ("impressions", "clicks", "visits")},
                "conversions": sum(_counted(row) for row in earned[(*key, model)]) / 1e15,
                "credited_reporting_value": _fits(
                    sum((row["credited_reporting_value"] or _ZERO for row in earned[(*key, model)]), _ZERO)
                ),
            }
            for key, count in counts.items()
            for model in models
        ]
        return [self._with_cost(row, earned) for row in rows]

    def _with_cost(self, row: Fields, earned: Mapping[tuple[object, ...], list[Fields]]) -> Fields:
        campaign = (row["day"], *(row[name] for name in _CAMPAIGN))
        cost, value = self.spent.get(campaign, _ZERO), row["credited_reporting_value"]
        credit = sum(_counted(each) for each in earned[(*campaign, row["model"])])
        return {
            **row,
            "cost": cost,
            "roas": ratio(value, cost),
            "cost_per_conversion": ratio(cost or None, Fraction(credit, 10**15)),
            "cost_per_visit": ratio(cost or None, row["visits"]),
        }

    @property
    def dimensions(self) -> list[Fields]:
        """gold.dimension_performance, for device and system; nothing is beyond the number of values."""
        return self.dimensions_by(_dimensions_of)

    def dimensions_by(self, values_of: Callable[[Fields], list[tuple[str, str | None]]]) -> list[Fields]:
        """gold.dimension_performance, for names and values of sessions and conversions; `{}` has none."""
        visits: Counter[tuple[Any, ...]] = Counter()
        for session in self.sessions:
            for name, value in values_of(session):
                visits[day_of(session["started_at"]), name, value, session["channel"]] += 1
        stated = {row["conversion_id"]: row for row in self.gold.conversions}
        earned: dict[tuple[Any, ...], list[Fields]] = defaultdict(list)
        for row in self.gold.attribution:
            counted = self._counted([stated[row["conversion_id"]]])
            for name, value in values_of(stated[row["conversion_id"]] if counted else {}):
                earned[day_of(row["converted_at"]), name, value, row["channel"], row["model"]].append(row)
        keys = {(*key, model) for key in visits for model in MODELS} | set(earned)
        return [
            {
                **dict(zip(("day", "dimension", "value", "channel", "model"), key, strict=True)),
                "visits": visits[key[:4]],
                "conversions": sum(_counted(row) for row in earned[key]) / 1e15,
                "credited_reporting_value": _fits(
                    sum((row["credited_reporting_value"] or _ZERO for row in earned[key]), _ZERO)
                ),
            }
            for key in keys
        ]

    @property
    def search_performance(self) -> list[Fields]:
        """gold.search_performance."""
        of: dict[tuple[date, str | None], list[Fields]] = defaultdict(list)
        for search in self.searches:
            if search["outcome"] != "orphan":
                of[day_of(search["event_time"]), search["query"]].append(search)
        rows = []
        for (day, query), made in of.items():
            clicked = sum(search["clicks"] > 0 for search in made)
            products = Counter(product for search in made for product in search["clicked_products"])
            top = sorted(products.items(), key=lambda each: (-each[1], each[0]))[:10]
            rows.append(
                {
                    "day": day,
                    "query": query,
                    "searches": len(made),
                    "clicked_searches": clicked,
                    "click_through": clicked / len(made),
                    "top_products": [{"product_id": name, "clicks": clicks} for name, clicks in top],
                }
            )
        return rows

    @property
    def result_performance(self) -> list[Fields]:
        """gold.result_performance."""
        shown = Counter((day_of(row["event_time"]), row["query"], row["rank"]) for row in self.results)
        clicked = Counter(
            (day_of(row["event_time"]), row["query"], row["rank"])
            for row in self.results
            if row["first_click_at"] is not None
        )
        names = ("day", "query", "rank")
        return [
            {**dict(zip(names, key, strict=True)), "shown": count, "clicked": clicked[key]}
            for key, count in shown.items()
        ]

    @property
    def promotion_performance(self) -> list[Fields]:
        """gold.promotion_performance."""
        orders = [each for each in self.conversions if each["goal"] == "Order Completed"]
        seen: Counter[tuple[date, str]] = Counter()
        clicks: dict[tuple[date, str], list[Fields]] = defaultdict(list)
        for event in self.events:
            if event["role"] == "impression":
                seen[day_of(event["event_time"]), event["promotion_id"]] += 1
        for click in self.clicks:
            clicks[day_of(click["event_time"]), click["promotion_id"]].append(click)
        return [
            {
                "day": key[0],
                "promotion_id": key[1],
                "impressions": seen[key],
                "clicks": len(clicks[key]),
                "clicking_visitors": len({click["visitor_id"] for click in clicks[key]}),
                "converting_visitors": len(
                    {
                        click["visitor_id"]
                        for click in clicks[key]
                        for order in orders
                        if order["visitor_id"] == click["visitor_id"]
                        and 0 <= order["converted_at"] - click["event_time"] < DAY
                    }
                ),
            }
            for key in {*seen, *clicks}
        ]

    @property
    def funnel(self) -> list[Fields]:
        """gold.funnel."""
        return [
            {"day": day, "step": step, "visitors": visitors}
            for (day, step), visitors in self._reached(None).items()
        ]

    @property
    def funnel_by_dimension(self) -> list[Fields]:
        """gold.funnel_by_dimension, for device and system; nothing is beyond the number of values."""
        starting = {session["first_event_id"] for session in self.sessions}
        shown = ("impression", "page_view", "search")
        values: dict[tuple[date, str], dict[str, str | None]] = {}
        for event in sorted(self.events, key=when):
            if event["role"] in shown or event["event_id"] in starting:
                key = day_of(event["event_time"]), event["visitor_id"]
                values.setdefault(key, dict(_dimensions_of(event)))
        return [
            {"day": day, "dimension": name, "value": value, "step": step, "visitors": visitors}
            for name in ("device", "system")
            for (day, value, step), visitors in self._reached(
                {key: stated[name] for key, stated in values.items()}
            ).items()
        ]

    def _reached(self, values: Mapping[tuple[date, str], str | None] | None) -> Counter[tuple[Any, ...]]:
        """Visitors who reached a step, by day, value if there are any, and step."""
        counted = {click["event_id"] for click in self.clicks}
        orders = {each["event_id"] for each in self.conversions if each["goal"] == "Order Completed"}
        reached: Counter[tuple[Any, ...]] = Counter()
        depth: dict[tuple[date, str], int] = defaultdict(int)
        for event in sorted(self.events, key=when):
            step = {"impression": "impression", "page_view": "visit", "search": "search"}.get(event["role"])
            step = "click" if event["event_id"] in counted else step
            step = "order" if event["event_id"] in orders else step
            key = day_of(event["event_time"]), event["visitor_id"]
            if depth[key] < len(_STEPS) and step == _STEPS[depth[key]]:
                depth[key] += 1
                of = (key[0],) if values is None else (key[0], values[key])
                for each in _STEPS:
                    reached[(*of, each)] += each == step
        return reached


def windows_of(at: int) -> list[tuple[str, int, int]]:
    """The windows that contain a time."""
    tumbling = (("1 minute", MINUTE), ("1 hour", _HOUR), ("1 day", DAY))
    found = [(kind, at // long * long, at // long * long + long) for kind, long in tumbling]
    last = at // (5 * MINUTE) * 5 * MINUTE
    hops = [last - back * 5 * MINUTE for back in range(12)]
    return found + [("1 hour every 5 minutes", start, start + _HOUR) for start in hops]


def day_of(at: int) -> date:
    """The day of a time in microseconds."""
    return date(1970, 1, 1) + timedelta(days=at // DAY)


def _dimensions_of(row: Fields) -> list[tuple[str, str | None]]:
    values = json.loads(row.get("custom_dimensions") or "{}")
    return [(name, values.get(name)) for name in ("device", "system")]


def campaign_of(row: Fields) -> tuple[str | None, ...]:
    """The campaign of a row, else its promotion."""
    own = tuple(row[name] for name in _CAMPAIGN)
    return own if any(each is not None for each in own) else (None, None, row["promotion_id"])


def _fits(money: Decimal) -> Decimal | None:
    return money if abs(money) < 10**14 else None


def _counted(row: Fields) -> int:
    """Credit in units of 1e-15 (docs/rules.md), so that sums do not depend on the order."""
    return int(row["credit"] * 1e15 + 0.5) if row["is_counted"] else 0
