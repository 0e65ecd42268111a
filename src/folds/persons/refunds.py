"""Refunds and cancellations: the goals that reverse an order, from conf/roles.yml."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml


class OrderRules(NamedTuple):
    """Goals that reverse an order partly or fully. They change money but never count as conversions.

    Args:
        refunds: goal of a refund -> goal of its order. An order may have several refunds, and all count.
        cancellations: goal of a cancellation -> goal of its order. An order has one; it reverses the balance.
    """

    refunds: Mapping[str, str]
    cancellations: Mapping[str, str]

    @property
    def orders(self) -> tuple[str, ...]:
        """Goals that are orders."""
        return tuple(sorted({*self.refunds.values(), *self.cancellations.values()}))

    @property
    def reversals(self) -> tuple[str, ...]:
        """Goals that reverse an order."""
        return tuple(sorted({*self.refunds, *self.cancellations}))

    def order_goal(self, goal: str) -> str | None:
        """The goal of the order that a goal reverses; None if it reverses none."""
        return self.refunds.get(goal) or self.cancellations.get(goal)

    def is_counted(self, goal: str) -> bool:
        """Whether a goal counts as a conversion."""
        return self.order_goal(goal) is None


def load_order_rules(conf: Path) -> OrderRules:
    """Read conf/roles.yml."""
    tracks = yaml.safe_load((conf / "roles.yml").read_text(encoding="utf-8"))["tracks"]
    refunds, cancellations = (
        {goal: rule[key] for goal, rule in tracks.items() if key in rule} for key in ("refunds", "cancels")
    )
    return OrderRules(refunds, cancellations)
