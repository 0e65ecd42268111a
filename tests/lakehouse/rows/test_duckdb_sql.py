"""Spark SQL executed by DuckDB."""

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.rows.duckdb_sql import connect, requoted, spark_sql, spark_text_literal, text_literal


def test_identifiers_are_requoted_and_string_literals_are_kept() -> None:
    assert (
        requoted("`offset` > 1 AND `name` <> 'it''s `so`'") == "\"offset\" > 1 AND \"name\" <> 'it''s `so`'"
    )


@given(st.text("ab'\"`\\ ", max_size=12), st.text("ab\\'\"`", max_size=12))
def test_texts_and_names_mean_the_same_in_both_dialects(text: str, name: str) -> None:
    quoted = '"' + name.replace('"', "").replace("`", "").replace("'", "").replace("\\", "") + 'x"'
    duckdb = f"SELECT {text_literal(text)} AS {quoted}"
    assert requoted(spark_sql(duckdb)) == duckdb
    assert connect().execute(duckdb).fetchall() == [(text,)]


def test_backslash_is_written_twice_for_spark() -> None:
    assert (
        spark_sql(r"""SELECT "a" WHERE b = 'C:\it''s "d"'""") == r"""SELECT `a` WHERE b = 'C:\\it''s "d"'"""
    )


def test_spark_functions_are_available_in_duckdb() -> None:
    query = "SELECT unix_micros(TIMESTAMP '1970-01-01 00:00:01'), regexp_like('abc', 'b')"
    assert connect().execute(query).fetchall() == [(1_000_000, True)]


@pytest.mark.parametrize("text", ["", "it's", "a\\b", "\\'", "'; DROP TABLE a --", "ä\n"])
def test_text_literal_of_spark_is_the_text(text: str) -> None:
    literal = sqlglot.parse_one(f"SELECT {spark_text_literal(text)}", read="databricks").expressions[0]
    assert literal.this == text
