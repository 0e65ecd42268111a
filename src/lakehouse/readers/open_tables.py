"""The tables that the settings name."""

from lakehouse.readers.versioned_tables import VersionedTables
from lakehouse.settings import Settings


def open_tables(settings: Settings) -> VersionedTables:
    """The tables of the catalog, if one is set, else those of the home.

    Raises:
        MillraceError: if the tables are in a catalog, and no SQL warehouse is named to read them.
    """
    if settings.catalog:
        from lakehouse.readers.sql_warehouse import catalog_tables

        return catalog_tables(settings.catalog)
    from lakehouse.readers.folder_tables import FolderTables

    return FolderTables(settings.warehouse)
