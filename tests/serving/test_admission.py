"""Admission of continuous queries."""

import pytest

from lakehouse.errors import MillraceError
from serving.admission import admit

REJECTED = {
    "SELECT now() FROM gold.attribution": r"now\(\) depends on the clock",
    "SELECT current_date FROM gold.attribution": "current_date depends on the clock",
    "SELECT CURRENT_TIMESTAMP FROM gold.attribution": "current_timestamp depends on the clock",
    "SELECT age(touched_at) FROM gold.attribution": r"age\(\) depends on the clock",
    "SELECT random() FROM gold.attribution": r"random\(\) depends on the clock, on chance",
    "SELECT 1 FROM gold.attribution WHERE uuid() > model": r"uuid\(\)",
    "SELECT * FROM gold.attribution USING SAMPLE 3": "a sample is drawn by chance",
    "SELECT * FROM gold.attribution TABLESAMPLE 10%": "a sample is drawn by chance",
    "SELECT * FROM gold.attribution LIMIT 3": "LIMIT without ORDER BY",
    "SELECT * FROM (SELECT * FROM gold.attribution LIMIT 10%) ORDER BY 1": "LIMIT without ORDER BY",
    "SELECT DISTINCT ON (model) model, channel FROM gold.attribution": "DISTINCT ON without ORDER BY",
    "SELECT any_value(model) FROM gold.attribution": r"any_value\(\) without ORDER BY",
    "SELECT list(model) FROM gold.attribution": r"list\(\) without ORDER BY",
    "SELECT row_number() OVER (PARTITION BY model) FROM gold.attribution": r"row_number\(\) without ORDER BY",
    "SELECT * FROM gold.attribution POSITIONAL JOIN gold.touches": "positional join",
    "SELECT * FROM read_csv('x.csv'), gold.attribution": r"read_csv\(\) reads something outside",
    "SELECT * FROM 'x.parquet'": "x.parquet is not a table",
    "SELECT * FROM information_schema.tables": "information_schema.tables is not a table",
    "SELECT * FROM duckdb_settings()": r"duckdb_settings\(\) reads something outside",
    "SELECT * FROM gold.atribution": "Is gold.attribution meant",
    "SELECT * FROM gold.attribution AT (VERSION => 3)": "is not a table",
    "SELECT * FROM query('SELECT 1')": r"query\(\) reads something outside",
    "SELECT 1 FROM gold.attribution; SELECT 2": "one statement, not 2",
    "SELECT 1": "reads no table",
    "DELETE FROM gold.attribution": "has to be a SELECT",
    "PRAGMA version": "has to be a SELECT",
    "ATTACH 'x' AS y": "has to be a SELECT",
    "COPY gold.attribution TO 'x.csv'": "has to be a SELECT",
    "SET threads = 3": "has to be a SELECT",
    "DESCRIBE gold.attribution": "has to be a SELECT",
    "SELEC model FROM gold.attribution": "not a query: syntax error",
}


@pytest.mark.parametrize("query", REJECTED)
def test_nondeterministic_or_unsafe_query_is_rejected_with_reason(query: str) -> None:
    with pytest.raises(MillraceError, match=REJECTED[query]):
        admit(query)


KEYS = {
    "SELECT channel, sum(credit) FROM gold.attribution GROUP BY channel": (0,),
    "SELECT sum(credit), date_trunc('day', touched_at) AS day FROM gold.attribution GROUP BY day": (1,),
    "SELECT date_trunc('day', touched_at), model, count(*) FROM gold.attribution GROUP BY 2, 1": (1, 0),
    "SELECT sum(credit), lower(model) FROM gold.attribution GROUP BY lower(model)": (1,),
    "SELECT sum(credit) FROM gold.attribution GROUP BY channel": None,
    "SELECT channel, sum(credit) FROM gold.attribution GROUP BY ROLLUP (channel)": None,
    "SELECT sum(credit) FROM gold.attribution": None,
    "SELECT * FROM gold.attribution": None,
    "SELECT channel, unnest([1, 2]) AS n, sum(credit) FROM gold.attribution GROUP BY channel": None,
}


@pytest.mark.parametrize("query", KEYS)
def test_result_key_is_derived_from_group_by(query: str) -> None:
    assert admit(query).key == KEYS[query]


def test_tables_of_joins_subqueries_and_ctes_are_found() -> None:
    query = """WITH clicks AS (SELECT * FROM Gold.Touches WHERE kind = 'click' ORDER BY touched_at LIMIT 5)
    SELECT list(c.goal ORDER BY c.conversion_id) FROM gold.attribution
    JOIN gold.conversions c USING (conversion_id)
    WHERE touch_id IN (SELECT touch_id FROM clicks) AND model NOT IN (SELECT model FROM gold.channel_credit)
    AND credit > (SELECT avg(unnest) FROM unnest([1, 2]));"""
    assert admit(query).tables == (
        "gold.attribution",
        "gold.channel_credit",
        "gold.conversions",
        "gold.touches",
    )
