"""Everything that is looked at before anyone wonders why it doesn't run."""

from collections.abc import Callable

from lakehouse.settings import Settings
from millrace.machine import computer, installation
from millrace.machine.finding import Finding

CHECKS: tuple[Callable[[Settings], Finding], ...] = (
    computer.check_python,
    computer.check_java,
    installation.check_packages,
    installation.check_jars,
    computer.check_memory,
    computer.check_disk,
    installation.check_broker_port,
    installation.check_dashboard_port,
    computer.check_browser,
)


def examine(settings: Settings) -> list[Finding]:
    """Look at everything, in the order in which one would put it right."""
    return [check(settings) for check in CHECKS]
