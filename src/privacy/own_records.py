"""Which records of events are a person's: by the identities of a message, else by the bytes."""

from collections.abc import Callable, Iterable

from folds.records.message import decode_message
from folds.records.placeholders import identity
from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values

KeyedValue = tuple[bytes | None, bytes | None]
"""Key and value of a record."""


class OwnRecords:
    """Finds a person's records.

    `userId` and `anonymousId` of a message decide, whatever else it mentions. Records without both, such as
    those that are no JSON, are searched for the identifiers.

    Args:
        texts: identifiers of the person alone.
        placeholders: values that are no ids, in lower case.
    """

    def __init__(self, texts: Iterable[str], placeholders: frozenset[str]) -> None:
        self._texts = frozenset(texts)
        self._placeholders = placeholders
        self._matcher = Matcher(self._texts)

    def to_erase(self, records: Iterable[KeyedValue]) -> set[int]:
        """Numbers, from 0, of the records with an identifier as `userId`, `anonymousId` or key.

        An event that somebody else has sent from a device of the person's is one of them.
        """
        return self._find(records, lambda identities, key: not self._texts.isdisjoint((*identities, key)))

    def to_export(self, records: Iterable[KeyedValue]) -> set[int]:
        """Numbers, from 0, of the records with an identifier as `userId`, or as `anonymousId` without one."""
        return self._find(records, lambda identities, _: identities[0] in self._texts)

    def _find(self, records: Iterable[KeyedValue], is_own: Callable[[list[str], str], bool]) -> set[int]:
        found, others, contents = set[int](), list[int](), list[bytes]()
        for number, (key, value) in enumerate(records):
            if identities := self._identities(value or b""):
                if is_own(identities, (key or b"").decode(errors="replace")):
                    found.add(number)
            else:
                others.append(number)
                contents += (key or b"", value or b"")
        matches = find_in_values(self._matcher, contents)
        return found.union(others[number // 2] for number, match in matches if match.is_whole)

    def _identities(self, value: bytes) -> list[str]:
        """`userId` and `anonymousId` of a message, as the parser reads them; none if there are none."""
        try:
            message = decode_message(value)
            sent = () if message is None else (message.user_id, message.anonymous_id)
            return [found for each in sent if (found := identity(each, self._placeholders))]
        except Exception:  # noqa: BLE001 - a record that the parser fails at is searched
            return []
