"""Actions with a filled basket: checkout, account, order."""

from typing import Any

from millrace.sample_shop.action import Step
from millrace.sample_shop.catalogue import PRODUCTS
from millrace.sample_shop.returns import returns_of
from millrace.sample_shop.sample_rates import PER_EURO
from millrace.sample_shop.visit import Visit


def sign_up(visit: Visit) -> None:
    """Create an account; apps send an `alias` to link ids, companies a `group`."""
    rng, visitor = visit.rng, visit.visitor
    if visitor.user_id:
        return
    user_id = f"u{rng.getrandbits(36):09x}"
    visit.look_at("/account/new", "Create account")
    visit.think(20)
    visit.identify(user_id, {"plan": "free", "newsletter": rng.random() < 0.4})
    visit.track("Signed Up", {"method": rng.choice(("email", "google", "apple"))})
    if visitor.is_app:
        visit.note_membership("alias", {"previousId": visitor.anonymous_id})
    if rng.random() < 0.08:
        firm = f"firm-{rng.randrange(200)}"
        traits = {"groupId": firm, "name": firm.title(), "employees": rng.randrange(5, 400)}
        visit.note_membership("group", traits)


def log_in(visit: Visit) -> None:
    """Log in on this device."""
    if visit.visitor.user_id and not visit.visitor.is_known:
        visit.identify(visit.visitor.user_id, {"logins": visit.rng.randrange(1, 40)})


def check_out(visit: Visit) -> list[Step]:
    """Check out the basket, unless the visitor gives up. Returns later refunds or a cancellation."""
    rng = visit.rng
    visit.look_at("/basket", "Basket")
    visit.track("Cart Viewed", {"products": _lines(visit)})
    visit.think(10)
    if rng.random() < 0.28:
        return []
    visit.look_at("/checkout", "Checkout")
    visit.track("Checkout Started", {"value": _total(visit), "currency": visit.visitor.currency})
    visit.think(25)
    if rng.random() < 0.3:
        sign_up(visit)
    log_in(visit)
    if rng.random() < 0.15:
        return []
    order = _order(visit)
    visit.track("Order Completed", order)
    visit.look_at("/thank-you", "Thank you")
    return returns_of(visit.visitor, order, visit.now, rng)


def impulse_buy(visit: Visit) -> None:
    """Fill an empty basket, for visitors who come to buy."""
    for _ in range(visit.rng.choices((1, 2, 3), (6, 3, 1))[0]):
        visit.basket.append(PRODUCTS.choose(visit.rng))


def _order(visit: Visit) -> dict[str, Any]:
    total = _total(visit)
    order: dict[str, Any] = {
        "order_id": f"o-{visit.rng.getrandbits(40):010x}",
        "total": total,
        "revenue": round(total * 0.84, 2),
        "shipping": 0 if total > 60 else 4.9,
        "currency": visit.visitor.currency,
        "products": _lines(visit),
    }
    if visit.rng.random() < 0.1:  # some shops send money as text
        order["total"] = f"{total:.2f}"
    return order


def _lines(visit: Visit) -> list[dict[str, Any]]:
    return [
        {"product_id": product.product_id, "price": _price(product.price, visit), "quantity": 1}
        for product in visit.basket
    ]


def _price(euros: float, visit: Visit) -> float:
    return round(euros * PER_EURO[visit.visitor.currency], 2)


def _total(visit: Visit) -> float:
    return round(sum(_price(product.price, visit) for product in visit.basket), 2)
