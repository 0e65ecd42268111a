"""Searches of visitors, their results, and clicks on results."""

from typing import Any

from millrace.sample_shop.catalogue import QUERIES, Popular, Product, find_products
from millrace.sample_shop.visit import Visit


def search(visit: Visit) -> None:
    """Search; about half of the visitors open a result and some two, top results more often."""
    query = QUERIES.choose(visit.rng)
    visit.look_at("/search", "Search", f"?q={query.replace(' ', '+')}")
    results = list(enumerate(find_products(query), start=1))
    _show(visit, query, [_listed(position, product) for position, product in results])
    clicks = visit.rng.choices((0, 1, 2), (43, 46, 11))[0] if results else 0
    for _ in range(clicks):
        visit.think(6)
        position, product = Popular(results, 0.7).choose(visit.rng)
        visit.track("Product Clicked", _listed(position, product))
        visit.view_product(product)


def _show(visit: Visit, query: str, products: list[dict[str, Any]]) -> None:
    """Send results with the search event, or with a list event that has the search's id or query."""
    rng = visit.rng
    if rng.random() < 0.4:
        visit.track("Products Searched", {"query": query, "products": products})
        return
    search_id = {"search_id": f"s-{rng.getrandbits(40):010x}"} if rng.random() < 0.7 else {}
    visit.track("Products Searched", {"query": query, **search_id})
    visit.now += rng.uniform(0.2, 1.5)
    visit.track("Product List Viewed", {**(search_id or {"query": query}), "products": products})


def _listed(position: int, product: Product) -> dict[str, Any]:
    return {"product_id": product.product_id, "position": position}
