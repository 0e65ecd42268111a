"""SQL of Spark, read by DuckDB."""

from lakehouse.rows.duckdb_sql import connect, requoted


def test_names_are_requoted_and_texts_are_not() -> None:
    assert (
        requoted("`offset` > 1 AND `name` <> 'it''s `so`'") == "\"offset\" > 1 AND \"name\" <> 'it''s `so`'"
    )


def test_functions_of_spark_are_there() -> None:
    query = "SELECT unix_micros(TIMESTAMP '1970-01-01 00:00:01'), regexp_like('abc', 'b')"
    assert connect().execute(query).fetchall() == [(1_000_000, True)]
