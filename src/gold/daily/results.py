"""Search results by day: how often each rank was shown and clicked."""


def result_performance() -> str:
    """The query of gold.result_performance, over `results`. `query` is null for a search without words."""
    return """
        SELECT day, query, rank, COUNT(*) AS shown,
            CAST(SUM(CASE WHEN outcome = 'clicked' THEN 1 ELSE 0 END) AS BIGINT) AS clicked
        FROM {results} GROUP BY day, query, rank
    """
