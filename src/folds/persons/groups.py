"""Groups of goals that are folded together: connected components by shared order or person."""

from collections.abc import Iterable

from folds.persons.records import Goal


class GoalGroups:
    """Group keys by conversion and by person.

    Args:
        goals: in any order.
    """

    def __init__(self, goals: Iterable[Goal]) -> None:
        self._parents: dict[tuple[str, str], tuple[str, str]] = {}
        for goal in goals:
            conversion = ("conversion", goal.conversion_id)
            self._parents.setdefault(conversion, conversion)
            if goal.person_id is not None:
                self._join(conversion, ("person", goal.person_id))
            if goal.order_id is not None:
                self._join(conversion, ("order", goal.order_id))

    def of_conversion(self, conversion_id: str) -> str | None:
        """The group of a conversion; None if it has no goal here."""
        return self._group("conversion", conversion_id)

    def of_person(self, person_id: str) -> str | None:
        """The group of a person; None if the person has no goal here."""
        return self._group("person", person_id)

    def _group(self, kind: str, value: str) -> str | None:
        node = (kind, value)
        return ":".join(self._root(node)) if node in self._parents else None

    def _join(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        for node in (one, other):
            self._parents.setdefault(node, node)
        first, second = sorted((self._root(one), self._root(other)))
        self._parents[second] = first

    def _root(self, node: tuple[str, str]) -> tuple[str, str]:
        while (parent := self._parents[node]) != node:
            self._parents[node] = node = self._parents[parent]
        return node
