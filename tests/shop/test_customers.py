"""Customers that a row of the shop's database names: Spark and Python find the same."""

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from folds.shop.customers import customers_in
from lakehouse.rows.arrow_frames import to_frame
from shop.customers import customers_of
from shop.shop_file import ShopRules

Values = dict[str, str | None]
TABLES = {
    "customers": {"dimension": "customers", "columns": {"customer_id": "id"}},
    "orders": {"dimension": "orders", "columns": {"order_id": "id", "customer_id": ["buyer", "customer"]}},
    "products": {"dimension": "products", "columns": {"product_id": "id"}},
}
RULES = ShopRules.model_validate({"sources": {"shop": {"connection": "NONE", "tables": TABLES}}})
CASES: list[tuple[str, Values | None, Values | None, set[str]]] = [
    ("customers", {"id": "42", "house": "7"}, {"id": "42"}, {"42"}),
    ("customers", None, {"id": "42"}, {"42"}),
    ("customers", {"house": "42"}, None, set()),
    ("orders", {"id": "42", "customer": "7"}, {"id": "42"}, {"7"}),
    ("orders", {"buyer": "5", "customer": "7"}, {"id": "1"}, {"5"}),
    ("orders", {"buyer": None, "customer": "7"}, {"id": "1"}, {"7"}),
    ("orders", {"value": "1"}, {"customer": "7"}, {"7"}),
    ("orders", None, {"id": "42"}, set()),
    ("products", {"id": "42", "name": "42"}, {"id": "42"}, set()),
    ("notes", {"writer": "42", "text": None}, {"id": "n"}, {"42", "n"}),
    ("notes", None, None, set()),
]


@pytest.mark.parametrize(("table", "row", "key", "expected"), CASES)
def test_mapped_column_names_the_customer_else_each_value_may(
    table: str, row: Values | None, key: Values | None, expected: set[str]
) -> None:
    texts = (None if each is None else json.dumps(each) for each in (row, key))
    assert customers_in(RULES.customer_columns, "shop", table, *texts) == expected


def test_spark_finds_the_same_customers(spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = [
        {"number": number, "source": "shop", "source_table": table, "row": row, "row_key": key}
        for number, (table, row, key, _) in enumerate(CASES)
    ]
    for each in rows:
        each |= {name: each[name] and json.dumps(each[name]) for name in ("row", "row_key")}
    schema = pa.schema([("number", pa.int64()), *((name, pa.string()) for name in list(rows[0])[1:])])
    frame = to_frame(spark, pa.Table.from_pylist(rows, schema))
    found = frame.select("number", F.array_distinct(customers_of(RULES)).alias("customers")).collect()
    assert {row.number: set(row.customers) for row in found} == dict(
        enumerate(expected for *_, expected in CASES)
    )
