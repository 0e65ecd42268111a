"""Rules of the daily queries."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from folds.persons.refunds import load_order_rules
from folds.records.dimension_rules import load_dimension_rules


class DayRules(NamedTuple):
    """Rules of the daily queries.

    Args:
        orders: goals that are orders.
        dimension_names: custom dimensions, with commas between them.
        session_names: those of level `session`.
        of_customers: by name, the column of the shop's customers, of those that have one.
        max_values: values of a custom dimension with rows of their own on a day.
    """

    orders: tuple[str, ...]
    dimension_names: str = ""
    session_names: str = ""
    of_customers: Mapping[str, str] = MappingProxyType({})
    max_values: int = 1

    @classmethod
    def load(cls, conf: Path) -> "DayRules":
        """Read conf/."""
        orders, dimensions = load_order_rules(conf), load_dimension_rules(conf)
        names, of_sessions = (
            ",".join(sorted(each)) for each in (dimensions.dimensions, dimensions.of_sessions)
        )
        return cls(tuple(orders.orders), names, of_sessions, dimensions.of_customers, dimensions.max_values)
