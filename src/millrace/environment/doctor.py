"""All checks of this machine."""

from collections.abc import Callable

from lakehouse.settings import Settings
from millrace.environment import hardware, installation
from millrace.environment.check import Finding

CHECKS: tuple[Callable[[Settings], Finding], ...] = (
    hardware.check_python,
    hardware.check_java,
    installation.check_packages,
    installation.check_jars,
    hardware.check_memory,
    hardware.check_disk,
    installation.check_broker_port,
    installation.check_dashboard_port,
    hardware.check_browser,
)


def examine(settings: Settings) -> list[Finding]:
    """Run all checks, in the order in which one would fix problems."""
    return [check(settings) for check in CHECKS]
