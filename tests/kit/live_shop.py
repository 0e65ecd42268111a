"""Tables that the live page reads, and the values that it must show."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from kit.warehouse_builder import replace_rows

_DAY = datetime(2026, 11, 25, tzinfo=timezone.utc)
_CHANNELS = ("Email", "Direct", "Paid Search")
_MINUTE = timedelta(minutes=1)


@dataclass
class LiveShop:
    """A shop's gold tables, extended order by order: each order has one visitor and one session.

    Args:
        home: the home with the tables.
        midnight: the start of the day.
    """

    home: Path
    midnight: datetime = _DAY
    orders: list[dict[str, Any]] = field(default_factory=list)

    def sell(self, count: int, value: str = "10.00") -> None:
        """Add orders, one per minute, and write the tables."""
        for number in range(len(self.orders), len(self.orders) + count):
            at = self.midnight + timedelta(hours=8) + number * _MINUTE
            channel = _CHANNELS[number % len(_CHANNELS)]
            self.orders.append({"number": number, "at": at, "channel": channel, "value": Decimal(value)})
        self._write()

    @property
    def shown(self) -> dict[str, str]:
        """The values that the page must show, by element id."""
        total, count = sum(order["value"] for order in self.orders), str(len(self.orders))
        return {"visitors": count, "sessions": count, "conversions": count, "value": f"€{total:,.2f}"}

    @property
    def by_channel(self) -> dict[str, Decimal]:
        """Value by channel."""
        found: Counter[str] = Counter()
        for order in self.orders:
            found[order["channel"]] += order["value"]
        return dict(found)

    def _write(self) -> None:
        minutes = [_window("1 minute", order["at"], _MINUTE, 1, order["value"]) for order in self.orders]
        total = sum((order["value"] for order in self.orders), Decimal(0))
        day = _window("1 day", self.midnight, timedelta(days=1), len(self.orders), total)
        replace_rows(self.home, "gold.attribution", map(_credit, self.orders))
        replace_rows(self.home, "gold.conversions", map(_conversion, self.orders))
        replace_rows(self.home, "gold.traffic", [*minutes, day])


def _window(kind: str, start: datetime, length: timedelta, count: int, value: Decimal) -> dict[str, Any]:
    counts = dict.fromkeys(("events", "page_views", "visitors", "sessions", "conversions"), count)
    return {
        "window_kind": kind,
        "window_start": start,
        "window_end": start + length,
        "reporting_value": value,
        "is_complete": True,
        **counts,
    }


def _credit(order: dict[str, Any]) -> dict[str, Any]:
    return {
        "conversion_id": f"c{order['number']}",
        "model": "last",
        "position": 1,
        "converted_at": order["at"],
        "channel": order["channel"],
        "credit": 1.0,
        "is_counted": True,
        "credited_reporting_value": order["value"],
    }


def _conversion(order: dict[str, Any]) -> dict[str, Any]:
    return {
        "conversion_id": f"c{order['number']}",
        "converted_at": order["at"],
        "goal": "Order Completed",
        "order_id": f"o{order['number']}",
        "reporting_value": order["value"],
        "visit": {"session_id": "s", "event_id": "e", "at": order["at"], "channel": order["channel"]},
    }
