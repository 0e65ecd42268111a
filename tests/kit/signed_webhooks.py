"""Headers of signed webhooks, as their providers send them."""

import base64
import hmac
import time
from hashlib import sha256


def stripe(body: bytes, secret: str, at: float | None = None, before: str = "") -> dict[str, str]:
    """Headers of Stripe.

    Args:
        body: the request's body.
        secret: the whole secret of the endpoint.
        at: signed time in seconds since 1970; now by default.
        before: text before the digits of the signature, which makes it wrong.
    """
    stamp = int(time.time() if at is None else at)
    digest = hmac.new(secret.encode(), f"{stamp}.".encode() + body, sha256).hexdigest()
    return {"Stripe-Signature": f"t={stamp},v1={before}{digest},v1=0000,v0=x"}


def shopify(body: bytes, secret: str, topic: str, delivery: str, event: str | None = None) -> dict[str, str]:
    """Headers of Shopify.

    Args:
        body: the request's body.
        secret: the secret of the app.
        topic: such as `orders/create`.
        delivery: id of the delivery.
        event: id of what happened in the shop; None as in old versions.
    """
    digest = base64.b64encode(hmac.new(secret.encode(), body, sha256).digest()).decode()
    headers = {
        "X-Shopify-Hmac-Sha256": digest,
        "X-Shopify-Topic": topic,
        "X-Shopify-Webhook-Id": delivery,
    }
    return headers if event is None else {**headers, "X-Shopify-Event-Id": event}


def standard(body: bytes, key: bytes, id_: str) -> dict[str, str]:
    """Headers of Standard Webhooks."""
    stamp = str(int(time.time()))
    digest = hmac.new(key, f"{id_}.{stamp}.".encode() + body, sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": id_, "webhook-timestamp": stamp, "webhook-signature": signature}
