"""Every published table, declared once. Importable without Spark."""

from lakehouse.contracts import bronze, gold, ops, shop, silver
from lakehouse.contracts.table import Column, Table

TABLES: dict[str, Table] = {
    table.name: table for table in (*bronze.TABLES, *silver.TABLES, *shop.TABLES, *gold.TABLES, *ops.TABLES)
}

LOCKS = {"silver": silver.LOCK, "gold": gold.LOCK}
"""By layer, the table whose lock is held while a table of the layer is rewritten; others are append-only."""

__all__ = ["LOCKS", "TABLES", "Column", "Table"]
