"""Rows of a person in tables where no column says whose a row is, found in batches of a table."""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from folds.shop.change_record import ShopChange, parse_change
from folds.shop.customers import CustomerColumns, customers_in
from privacy.identities import Person
from privacy.own_records import OwnRecords
from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values

_CHANGE = ("source", "source_table", "row", "row_key")


@dataclass(frozen=True)
class ExportRules:
    """Settings and rules of conf/ that say whose a record is.

    Args:
        placeholders: values that are no ids, in lower case.
        shop_topic: topic of changes of the shop's database.
        customers: columns of its tables with the customer.
    """

    placeholders: frozenset[str]
    shop_topic: str
    customers: CustomerColumns


class OwnRows:
    """Finds a person's rows. Each method returns the numbers of the rows in a batch.

    Args:
        person: whose rows; with an identifier of their own.
        rules: say whose a record is.
    """

    def __init__(self, person: Person, rules: ExportRules) -> None:
        self._users = person.users
        self._customers = rules.customers
        self._records = OwnRecords(person.own_texts, rules.placeholders)
        self._matcher = Matcher(person.own_texts)

    def naming(self, batch: pl.DataFrame, column: str) -> Collection[int]:
        """Rows that name the person in a column of text or of bytes."""
        return self._naming(batch[column].cast(pl.Binary).to_list())

    def rejected(self, batch: pl.DataFrame) -> Collection[int]:
        """Rows of silver.rejected_events."""
        return self._records.to_export((None, value) for value in batch["value"])

    def records(self, batch: pl.DataFrame) -> Collection[int]:
        """Records of events in bronze."""
        return self._records.to_export(batch.select("key", "value").iter_rows())

    def changes(self, batch: pl.DataFrame) -> Collection[int]:
        """Rows of silver.shop_changes, by the customer."""
        rows = enumerate(batch.select(_CHANGE).iter_rows())
        return [number for number, row in rows if self._is_of_customer(*row)]

    def change_records(self, batch: pl.DataFrame) -> Collection[int]:
        """Records of changes in bronze: by the customer, and by their bytes if they are no changes."""
        named, found = self._naming(batch["value"].to_list()), list[int]()
        for number, (value, key) in enumerate(batch.select("value", "key").iter_rows()):
            change = parse_change(value, key)
            if isinstance(change, ShopChange):
                place = change.source, change.source_table
                is_own = self._is_of_customer(*place, change.row, change.row_key)
            else:
                is_own = number in named
            found += [number] if is_own else []
        return found

    def _is_of_customer(self, source: str, table: str, row: str | None, row_key: str | None) -> bool:
        return not self._users.isdisjoint(customers_in(self._customers, source, table, row, row_key))

    def _naming(self, values: list[bytes | None]) -> set[int]:
        found = find_in_values(self._matcher, (value or b"" for value in values))
        return {number for number, match in found if match.is_whole}
