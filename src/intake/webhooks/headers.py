"""Ids and names of webhooks that are in headers."""

from collections.abc import Mapping
from typing import NamedTuple

from intake.event_settings import Events
from intake.webhooks.signatures import Scheme

_EVENT_ID, _DELIVERY_ID, _TOPIC = "x-shopify-event-id", "x-shopify-webhook-id", "x-shopify-topic"
_ID = "webhook-id"


class Named(NamedTuple):
    """What headers say of a webhook: the provider's id and name of the event; None for neither."""

    id: str | None = None
    name: str | None = None


def read_headers(scheme: Scheme, headers: Mapping[str, str], events: Events) -> Named:
    """The id and the name of a webhook.

    All webhooks of one action in a shop have the same `X-Shopify-Event-Id`: those of one topic, which are
    copies, and those of other topics, which are not. So the topic is part of the id, unless it is the only
    one that the source translates.

    Args:
        scheme: the signature scheme, which tells the provider.
        headers: headers of the request, by lower-case name.
        events: the settings of the source.
    """
    if scheme is Scheme.STANDARD_WEBHOOKS:
        return Named(headers.get(_ID) or None)
    if scheme is not Scheme.SHOPIFY:
        return Named()
    topic, event = headers.get(_TOPIC) or None, headers.get(_EVENT_ID)
    if not event:
        return Named(headers.get(_DELIVERY_ID) or None, topic)
    return Named(event if topic is None or [*events.names] == [topic] else f"{topic}:{event}", topic)
