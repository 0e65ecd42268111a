"""Spark SQL executed by DuckDB."""

from lakehouse.rows.duckdb_sql import connect, requoted


def test_identifiers_are_requoted_and_string_literals_are_kept() -> None:
    assert (
        requoted("`offset` > 1 AND `name` <> 'it''s `so`'") == "\"offset\" > 1 AND \"name\" <> 'it''s `so`'"
    )


def test_spark_functions_are_available_in_duckdb() -> None:
    query = "SELECT unix_micros(TIMESTAMP '1970-01-01 00:00:01'), regexp_like('abc', 'b')"
    assert connect().execute(query).fetchall() == [(1_000_000, True)]
