"""The whole application: streams, webhooks, the live page and the descriptions."""

from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette

from lakehouse.access.mask_key import SessionKey
from lakehouse.access.policy_file import PolicyFile
from lakehouse.access.read_log import Reads
from serving.api.app import StreamingApi
from serving.api.live_page import live_route
from serving.api.readers import Readers
from serving.api.receipts import Receipts, Wait
from serving.api.sessions import Sessions
from serving.description.documents import with_documents
from serving.stream.hub import Hub
from serving.stream.subscription import Terms
from serving.webhooks.routes import Webhooks


@dataclass(frozen=True)
class Site:
    """Settings of the application, except those of the tables.

    Args:
        home: folder of the workspace, for webhooks and the key of sessions.
        conf: folder of access.yml.
        currency: reporting currency (ISO 4217) of the live page.
        zone: business time zone (IANA) of the live page.
        webhook_hosts: hosts to which webhooks may be sent, in addition to this machine.
        reads: records what readers have seen; None: nothing is recorded.
        trusts_local: whether programs on this machine may read without a token.
        receipts: waits for the events of a collector's receipt; None: this server has no collector.
    """

    home: Path
    conf: Path
    currency: str = "EUR"
    zone: str = "UTC"
    webhook_hosts: frozenset[str] = frozenset()
    reads: Reads | None = None
    trusts_local: bool = False
    receipts: Wait | None = None


def application(hub: Hub, terms: Terms, send_timeout: float, site: Site) -> Starlette:
    """The application.

    Args:
        hub: follows tables and queries.
        terms: default settings of subscriptions.
        send_timeout: seconds within which a subscriber has to take a message.
        site: other settings of the application.
    """
    policy, sessions = PolicyFile(site.conf, site.home).current, Sessions(SessionKey(site.home).secret)
    readers = Readers(policy, sessions, trusts_local=site.trusts_local)
    webhooks = Webhooks(hub, readers, terms, site.home, site.webhook_hosts, site.reads)
    api = StreamingApi(hub, readers, sessions, terms, send_timeout, site.reads, Receipts(site.receipts))
    app = api.app(more=[live_route(site.currency, site.zone), *webhooks.routes])
    return with_documents(webhooks.attach(app))
