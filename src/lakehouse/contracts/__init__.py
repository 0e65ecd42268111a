"""Every published table, declared once. Importable without Spark."""

from lakehouse.contracts import bronze, gold, ops, silver
from lakehouse.contracts.table import Column, Table

TABLES: dict[str, Table] = {
    table.name: table for table in (*bronze.TABLES, *silver.TABLES, *gold.TABLES, *ops.TABLES)
}

__all__ = ["TABLES", "Column", "Table"]
