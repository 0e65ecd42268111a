"""Signs deliveries by the specification Standard Webhooks: HMAC-SHA256 of id, time and body."""

import base64
import hmac
import secrets
from hashlib import sha256

_PREFIX = "whsec_"
_KEY_BYTES = 32


def new_secret() -> str:
    """A new secret in the form for receivers: `whsec_` and base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def signed_headers(secret: str, delivery: str, seconds: int, body: bytes) -> dict[str, str]:
    """The headers of a delivery.

    Args:
        secret: secret of the webhook.
        delivery: id of the delivery, the same for each attempt.
        seconds: time of the attempt, in seconds since 1970.
        body: body of the request.
    """
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.new(key, f"{delivery}.{seconds}.".encode() + body, sha256).digest()
    return {
        "webhook-id": delivery,
        "webhook-timestamp": str(seconds),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
