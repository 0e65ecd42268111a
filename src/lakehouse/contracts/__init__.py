"""Every published table, declared once. Importable without Spark."""

from lakehouse.contracts import bronze, gold, ops, shop, silver
from lakehouse.contracts.table import Column, Table

TABLES: dict[str, Table] = {
    table.name: table for table in (*bronze.TABLES, *silver.TABLES, *shop.TABLES, *gold.TABLES, *ops.TABLES)
}

LOCKS = {"silver": (silver.LOCK,), "gold": (gold.LOCK, gold.SUMMARY_LOCK)}
"""By layer, tables whose locks are held while a table of it is rewritten; other layers are append-only."""

__all__ = ["LOCKS", "TABLES", "Column", "Table"]
