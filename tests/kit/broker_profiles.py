"""Homes whose local broker requires authentication, and a request that sends an event to the collector."""

import http.client
from pathlib import Path

from kit.home import Home
from lakehouse.settings import Settings, load_settings
from millrace.local.process.ports import stable_port


def secured_home(path: Path, security: str) -> Home:
    """A home with its own broker that has the given `broker_security`."""
    port = stable_port()
    more = {
        "MILLRACE_KAFKA_BOOTSTRAP": "",
        "MILLRACE_BROKER_PORT": str(port),
        "MILLRACE_BROKER_SECURITY": security,
    }
    return Home(path, f"127.0.0.1:{port}", "events", more)


def settings_of(home: Home) -> Settings:
    """The settings of its commands for code in this process."""
    return load_settings(
        home=home.path,
        broker_port=int(home.more["MILLRACE_BROKER_PORT"]),
        broker_security=home.more["MILLRACE_BROKER_SECURITY"],
        events_topic=home.topic,
        trust_local=True,
        exchange_rates_topic=home.rates_topic,
        campaign_costs_topic=home.costs_topic,
        shop_changes_topic=home.shop_topic,
    )


def track(port: int) -> int:
    """Send an event to the collector. Returns the status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/v1/track", b'{"userId": "u", "event": "A", "messageId": "tracked"}')
        return connection.getresponse().status
    finally:
        connection.close()
