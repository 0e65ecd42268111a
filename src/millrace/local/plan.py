"""The services that `up` or `demo` starts, as arguments of the supervisor."""

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.local import demo_shop, demo_traffic
from millrace.local.process.ports import HOST
from millrace.local.services import (
    Service,
    api_service,
    broker_service,
    capture_service,
    collector_service,
    dashboard_service,
    engine_service,
    url,
)
from millrace.local.supervisor import Supervisor
from shop.shop_file import load_shop_rules


@dataclass(frozen=True)
class Plan:
    """The services to run.

    Args:
        broker_only: whether to run only the broker.
        history: hours of sample events to send first; 0 for none.
        rate: sample events per second, on average over a day; 0 for none.
        shop_port: port of the sample shop's PostgreSQL; 0 for none.
    """

    broker_only: bool = False
    history: float = 0.0
    rate: float = 0.0
    shop_port: int = 0

    def arguments(self) -> tuple[str, ...]:
        """The plan as arguments of this module's command line."""
        alone = ("--broker-only",) if self.broker_only else ()
        return (*alone, f"--history={self.history}", f"--rate={self.rate}", f"--shop-port={self.shop_port}")

    def services(self, settings: Settings) -> list[Service]:
        """The services of the plan; without a broker if an external Kafka is configured."""
        local = [] if settings.kafka_bootstrap else [broker_service(settings)]
        if self.broker_only:
            return local
        needs = tuple(service.name for service in local)
        # The dashboard first, so that its page can be opened while other services start.
        parts = [dashboard_service(settings), *local, engine_service(settings, needs)]
        if settings.collector_port:
            parts.append(collector_service(settings, settings.collector_port))
        if settings.api_port:
            parts.append(api_service(settings, settings.api_port))
        if self.shop_port:
            parts.append(demo_shop.shop_service(settings, self.shop_port, needs))
        sources = load_shop_rules(settings.conf).sources
        shop = (demo_shop.SHOP,) if self.shop_port else ()
        captured = [name for name, each in sources.items() if each.database]
        parts += [capture_service(settings, name, (*needs, *shop)) for name in captured]
        if self.history:
            parts.append(demo_traffic.history_service(settings, self.history, self.rate, needs))
            needs = (*needs, demo_traffic.HISTORY)
        if self.rate:
            parts.append(demo_traffic.live_service(settings, self.rate, needs))
        return parts

    def environment(self, settings: Settings) -> dict[str, str]:
        """Addresses for the workspace's state file."""
        if self.broker_only:
            return {"kafka": settings.bootstrap}
        ports = {"collector": settings.collector_port, "api": settings.api_port}
        servers = {name: f"http://{HOST}:{port}" for name, port in ports.items() if port}
        return {"kafka": settings.bootstrap, "dashboard": url(settings), **servers}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the supervisor of a plan until a signal."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--broker-only", action="store_true")
    parser.add_argument("--history", type=float, default=0.0)
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--shop-port", type=int, default=0)
    plan = Plan(**vars(parser.parse_args(arguments)))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    settings = load_settings()
    if plan.shop_port:
        demo_shop.use_database(settings, plan.shop_port)
    try:
        Supervisor(settings.home, plan.services(settings), plan.environment(settings)).run()
    except MillraceError as error:
        sys.exit(f"ERROR {error}")


if __name__ == "__main__":
    main()
