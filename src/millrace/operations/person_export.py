"""The rows of a person, from tables in folders or in a catalog."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from folds.records.placeholders import load_placeholders
from lakehouse.settings import Settings
from millrace.tables import table_scan
from privacy.export.own_rows import ExportRules
from privacy.export.person_rows import PersonRows
from privacy.identities import find_person
from shop.shop_file import load_shop_rules


@contextmanager
def rows_of_person(
    settings: Settings, users: Iterable[str], visitors: Iterable[str]
) -> Iterator[Iterable[tuple[str, dict[str, Any]]]]:
    """All rows of the person with some user ids, or with some visitors, each with the name of its table.

    Args:
        settings: the settings in force.
        users: known user ids.
        visitors: known visitors.

    Raises:
        SharedVisitorError: if no user is given, and the visitors have several.
    """
    rules = ExportRules(
        load_placeholders(settings.conf),
        settings.shop_changes_topic,
        load_shop_rules(settings.conf).customer_columns,
    )
    with table_scan.reading(settings):
        scan = partial(table_scan.scan, settings)
        person = find_person(scan, users, visitors)
        if not person.own_texts:
            yield ()
        elif settings.catalog:
            from privacy.export.catalog_rows import CatalogRows  # needs PySpark

            yield PersonRows(CatalogRows(scan, person, rules), person, rules)
        else:
            yield PersonRows(scan, person, rules)
