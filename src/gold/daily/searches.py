"""Searches by day: queries, and whether results were clicked."""

_TOP = 10


def search_performance() -> str:
    """The query of gold.search_performance, over `searches`; orphan clicks do not count.

    `query` is null for a search without words.
    """
    return f"""
        WITH made AS (SELECT * FROM {{searches}} WHERE outcome <> 'orphan'),
        counted AS (
            SELECT day, query, COUNT(*) AS searches,
                CAST(SUM(CASE WHEN clicks > 0 THEN 1 ELSE 0 END) AS BIGINT) AS clicked_searches
            FROM made GROUP BY day, query
        ),
        clicked AS (SELECT day, query, EXPLODE(clicked_products) AS product_id FROM made),
        by_product AS (
            SELECT day, query, product_id, COUNT(*) AS clicks FROM clicked GROUP BY day, query, product_id
        ),
        ranked AS (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY day, query ORDER BY clicks DESC, product_id) AS rank
            FROM by_product
        ),
        top AS (
            SELECT day, query, TRANSFORM(
                SORT_ARRAY(COLLECT_LIST(STRUCT(rank, product_id, clicks))),
                each -> STRUCT(each.product_id AS product_id, each.clicks AS clicks)
            ) AS products
            FROM ranked WHERE rank <= {_TOP} GROUP BY day, query
        )
        SELECT counted.day, counted.query, searches, clicked_searches,
            clicked_searches / searches AS click_through,
            COALESCE(products, ARRAY()) AS top_products
        FROM counted LEFT JOIN top
            ON counted.day = top.day AND counted.query IS NOT DISTINCT FROM top.query
    """
