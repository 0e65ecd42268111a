"""One visit to the shop, from the landing page to the last click."""

from random import Random
from typing import Any

from millrace.sample_shop.acquisition import Origin, landing_query
from millrace.sample_shop.action import Step
from millrace.sample_shop.catalogue import (
    CATEGORIES,
    HOST,
    PROMOTIONS,
    Product,
    Promotion,
)
from millrace.sample_shop.visitors import Visitor

_SHOP_NAME = "Alder & Fern"


class Visit:
    """Simulates a visit, and collects its steps.

    Args:
        visitor: the visitor.
        origin: origin of the visit.
        at: simulated second of the start.
        rng: random generator.
    """

    def __init__(self, visitor: Visitor, origin: Origin, at: float, rng: Random) -> None:
        self.steps: list[Step] = []
        self.visitor = visitor
        self.now = at
        self.rng = rng
        self.basket: list[Product] = []
        self._referrer = origin.referrer
        self._page: dict[str, str] | None = None
        # Some tag setups send the campaign only in the URL.
        self._campaign = origin.utm if origin.utm and rng.random() < 0.75 else None
        self._landing = landing_query(origin, rng)

    def think(self, seconds: float) -> None:
        """Advance the time by about this number of seconds, sometimes by far more."""
        self.now += min(seconds * self.rng.lognormvariate(-0.2, 0.7), 600.0)

    def look_at(self, path: str, title: str, search: str = "") -> None:
        """View a page; the URL of the first one has the campaign's parameters."""
        search, self._landing = search or self._landing, ""
        if self.visitor.is_app:
            self._note("screen", title, {"name": title, "path": path})
            return
        url = f"https://{HOST}{path}{search}"
        title = f"{title} | {_SHOP_NAME}"
        page = {"path": path, "referrer": self._referrer, "search": search, "title": title, "url": url}
        self._page, self._referrer = page, url
        self._note("page", "", page)

    def track(self, name: str, properties: dict[str, Any]) -> None:
        """Add a track event on the current page."""
        self._note("track", name, properties)

    def identify(self, user_id: str, traits: dict[str, Any]) -> None:
        """Add an identify event, after which the shop knows the user."""
        self.visitor.user_id, self.visitor.is_known = user_id, True
        self._note("identify", "", traits)

    def note_membership(self, kind: str, properties: dict[str, Any]) -> None:
        """Add a `group` or `alias` event."""
        self._note(kind, "", properties)

    def browse_category(self) -> None:
        """View the list of products of a category."""
        category = CATEGORIES.choose(self.rng)
        self.look_at(f"/c/{category}", category.title())

    def view_product(self, product: Product) -> None:
        """View a product's page; some visitors add it to the basket."""
        self.look_at(product.path, product.name.title())
        self.track("Product Viewed", _described(product, self.visitor.currency))
        self.think(9)
        if self.rng.random() < 0.16:
            self.basket.append(product)
            self.track("Product Added", _described(product, self.visitor.currency) | {"quantity": 1})

    def see_promotions(self, how_many: int) -> None:
        """View banners; some visitors click one, and a few click it twice."""
        for position in range(1, how_many + 1):
            promotion = PROMOTIONS.choose(self.rng)
            banner = _banner(promotion, position)
            self.now += 0.2
            self.track("Promotion Viewed", banner)
            if self.rng.random() < 0.11:
                self.think(4)
                self._click(promotion, banner)
                return

    def _click(self, promotion: Promotion, banner: dict[str, Any]) -> None:
        self.track("Promotion Clicked", banner)
        again = self.rng.random()
        if again < 0.2:
            self.now += self.rng.uniform(0.4, 9.0)
            self.track("Promotion Clicked", banner)
        elif again < 0.25:
            self.now += self.rng.uniform(10.0, 60.0)
            self.track("Promotion Clicked", banner)
        self.now += 0.6
        self.look_at(f"/c/{promotion.category}", promotion.category.title())

    def _note(self, kind: str, name: str, properties: dict[str, Any]) -> None:
        self.steps.append(
            Step(
                visitor=self.visitor,
                at=self.now,
                kind=kind,
                name=name,
                properties=properties,
                user_id=self.visitor.user_id if self.visitor.is_known else None,
                page=self._page,
                campaign=self._campaign,
            )
        )


def _described(product: Product, currency: str) -> dict[str, Any]:
    return {
        "product_id": product.product_id,
        "name": product.name,
        "category": product.category,
        "price": product.price,
        "currency": currency,
    }


def _banner(promotion: Promotion, position: int) -> dict[str, Any]:
    return {
        "promotion_id": promotion.promotion_id,
        "name": promotion.name,
        "creative": promotion.creative,
        "position": f"slot-{position}",
    }
