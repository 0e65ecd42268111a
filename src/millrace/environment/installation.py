"""Checks of the installation: packages, jars, ports, Kafka."""

import socket
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from lakehouse.bundle_file import bundle_root
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.environment.check import Finding, fail, ok, warn
from millrace.environment.jar_check import check
from millrace.environment.jar_lock import cache_folder, read_lock
from millrace.local.process.ports import free_port, is_free, port_owner
from millrace.local.process.process_registry import running

_REINSTALL = "Run make clean setup"
_SHOWN = 3
_ANSWER_SECONDS = 3


def check_packages(_settings: Settings) -> Finding:
    """All Python packages have the locked versions; without a checkout, versions in the declared range."""
    own = _declared_requirements()
    wanted = locked_requirements() or own
    wrong = {pin.name: text for pin in wanted if (text := _misfit(pin))}
    if not wrong:
        return ok("packages", f"{len(wanted)}, each at its version")
    rest = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    check = fail if wrong.keys() & {requirement.name for requirement in own} else warn
    return check("packages", "; ".join(list(wrong.values())[:_SHOWN]) + rest, _REINSTALL)


def check_jars(_settings: Settings) -> Finding:
    """All jars exist, with the right checksums."""
    jars = read_lock()
    try:
        check(jars)
    except MillraceError as error:
        return fail("jars", error.problem, error.next_step)
    return ok("jars", f"{len(jars)} in {cache_folder()}, checksums right")


def check_broker_port(settings: Settings) -> Finding:
    """The local broker's port is free or its own; or the external Kafka answers."""
    if settings.kafka_bootstrap:
        return _check_bootstrap(settings.kafka_bootstrap)
    return _check_port(settings, "broker", settings.broker_port, "MILLRACE_BROKER_PORT")


def check_dashboard_port(settings: Settings) -> Finding:
    """The dashboard's port is free or its own."""
    return _check_port(settings, "dashboard", settings.dashboard_port, "MILLRACE_DASHBOARD_PORT")


def locked_requirements(lock: Path | None = None) -> list[Requirement]:
    """The pins of requirements.lock that apply to this machine; empty when there is no lock.

    Args:
        lock: the lock file; by default the checkout's.
    """
    file = lock or (bundle_root() or Path.cwd()) / "requirements.lock"
    if not file.is_file():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line.rstrip(" \\")) for line in lines if line[:1].isalnum()]
    return [pin for pin in pins if pin.marker is None or pin.marker.evaluate()]


def _declared_requirements() -> list[Requirement]:
    """Declared requirements of Millrace; none if it runs from sources without being installed."""
    try:
        return [Requirement(text) for text in metadata.requires("millrace") or []]
    except metadata.PackageNotFoundError:
        return []


def _misfit(wanted: Requirement) -> str | None:
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return f"{wanted.name} is missing"
    fits = wanted.specifier.contains(version, prereleases=True)
    return None if fits else f"{wanted.name} is {version}, wanted {wanted.specifier}"


def _check_port(settings: Settings, process: str, port: int, variable: str) -> Finding:
    subject = f"port {port}"
    if is_free(port):
        return ok(subject, f"free for the {process}")
    if running(settings.home, process):
        return ok(subject, f"in use by this workspace's {process}")
    who = port_owner(port) or "another user's program"
    return fail(
        subject, f"taken by {who}", f"End it, or take another for the {process}: {variable}={free_port()}"
    )


def _check_bootstrap(bootstrap: str) -> Finding:
    host, _, port = bootstrap.split(",", maxsplit=1)[0].rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS).close()
    except (OSError, ValueError) as error:
        return warn(
            "Kafka", f"{bootstrap} does not answer ({error})", "Start it, or correct MILLRACE_KAFKA_BOOTSTRAP"
        )
    return ok("Kafka", f"{bootstrap} answers")
