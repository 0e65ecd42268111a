"""The services of a workspace: their commands and readiness checks."""

import http.client
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from bronze.kafka_auth import client_options
from lakehouse.bundle_file import bundle_root
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.bind_policy import host_of, require_protection
from millrace.local.kafka import broker, broker_setup
from millrace.local.kafka.login_files import make_login
from millrace.local.process.child_process import Child, Program, last_error
from millrace.local.process.ports import HOST, require_free
from millrace.local.process.state_files import read_state

API = "api"
COLLECTOR = "collector"
CAPTURE = "capture"
ENGINE = "engine"
DASHBOARD = "dashboard"

_CAPTURE_SECONDS = 5.0


@dataclass(frozen=True)
class Service:
    """A program that the workspace keeps running.

    Args:
        name: name in `millrace status`.
        prepare: prepares and returns the program; may take some time.
        is_ready: returns whether it is ready; may take a second.
        last_error_line: returns the last error that it reported, for use after its end.
        check: raises an error, before anything is started, if it can't work.
        needs: names of the services that must be ready before its first start.
        ready_within: time until it must be ready; otherwise it is restarted.
        once: whether it ends by itself with exit code 0, and is not restarted after that.
        extra: whether the workspace counts as running without it.
    """

    name: str
    prepare: Callable[[], Program]
    is_ready: Callable[[Child], bool]
    last_error_line: Callable[[], str]
    check: Callable[[], None] = lambda: None
    needs: tuple[str, ...] = ()
    ready_within: timedelta = timedelta(seconds=120)
    once: bool = False
    extra: bool = False


def broker_service(settings: Settings) -> Service:
    """The local Kafka."""
    home, port, security = settings.home, settings.broker_port, settings.broker_security

    def check() -> None:
        broker_setup.check_port(port)
        make_login(home, security)  # the collector reads it too, without waiting for the broker

    return Service(
        broker_setup.NAME,
        prepare=lambda: broker_setup.prepare_broker(home, port, security),
        is_ready=lambda child: broker.is_ready(child, port, login=client_options(settings)),
        last_error_line=lambda: broker.last_error_line(home),
        check=check,
        ready_within=timedelta(seconds=broker.READY_SECONDS),
    )


def engine_service(settings: Settings, needs: tuple[str, ...]) -> Service:
    """The one Spark application, which runs the continuous jobs."""
    command = (sys.executable, "-m", "millrace.local.engine.main")
    program = Program(ENGINE, command, settings.home, env=environment(settings))

    def is_ready(child: Child) -> bool:
        state = read_state(settings.home / "run" / "engine.json")
        return state.get("pid") == child.pid and state.get("state") == "running"

    return Service(ENGINE, lambda: program, is_ready, lambda: last_error_line(program), needs=needs)


def dashboard_service(settings: Settings) -> Service:
    """The Streamlit app."""
    port = settings.dashboard_port
    options = {
        "server.headless": "true",
        "server.address": settings.dashboard_address,
        "server.port": str(port),
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    flags = tuple(f"--{name}={value}" for name, value in options.items())

    command = (sys.executable, "-m", "streamlit", "run", str(_dashboard_file()), *flags)
    program = Program(DASHBOARD, command, settings.home, env=environment(settings))
    return Service(
        DASHBOARD,
        prepare=lambda: program,
        is_ready=lambda _: _is_healthy(host_of(settings.dashboard_address), port, "/_stcore/health"),
        last_error_line=lambda: last_error_line(program),
        check=lambda: _check_dashboard(settings),
    )


def collector_service(settings: Settings, port: int) -> Service:
    """The HTTP collector, which takes events even while Kafka is unavailable."""
    return _http_service(settings, COLLECTOR, "collect", port, "the collector", "MILLRACE_COLLECTOR_PORT")


def api_service(settings: Settings, port: int) -> Service:
    """The streaming API, with the live page."""
    return _http_service(settings, API, "serve", port, "the streaming API", "MILLRACE_API_PORT")


def _http_service(settings: Settings, name: str, verb: str, port: int, what: str, variable: str) -> Service:
    """A Millrace command that serves HTTP on a port, which a variable may override."""
    command = (sys.executable, "-m", "millrace", verb, "--port", str(port))
    program = Program(name, command, settings.home, env=environment(settings))
    return Service(
        name,
        prepare=lambda: program,
        is_ready=lambda _: _is_healthy(HOST, port, "/health"),
        last_error_line=lambda: last_error_line(program),
        check=lambda: require_free(port, what, f"Stop that program, or set {variable}={{free}}"),
    )


def capture_service(settings: Settings, source: str, needs: tuple[str, ...]) -> Service:
    """Capture of a database of the shop. The workspace runs without it while the database does not answer."""
    command = (sys.executable, "-m", "millrace", "capture", source)
    name = f"{CAPTURE}-{source}"
    program = Program(name, command, settings.home, env=environment(settings))
    return Service(
        name,
        prepare=lambda: program,
        is_ready=lambda child: child.uptime > _CAPTURE_SECONDS,  # it ends at once if it can't work
        last_error_line=lambda: last_error_line(program),
        needs=needs,
        extra=True,
    )


def url(settings: Settings) -> str:
    """URL of the dashboard."""
    return f"http://{host_of(settings.dashboard_address)}:{settings.dashboard_port}"


def environment(settings: Settings) -> dict[str, str]:
    """The settings in force, including command-line options, as MILLRACE_* variables for child processes."""
    values: dict[str, Any] = settings.model_dump(mode="json", exclude_none=True)
    if settings.alert_secret is not None:
        values["alert_secret"] = settings.alert_secret.get_secret_value()
    return {f"MILLRACE_{name.upper()}": str(value) for name, value in values.items()}


def _check_dashboard(settings: Settings) -> None:
    require_protection(settings, _dashboard_file().parent)
    next_step = "Stop that program, or set MILLRACE_DASHBOARD_PORT={free}"
    require_free(settings.dashboard_port, "the dashboard", next_step)


def _dashboard_file() -> Path:
    checkout = Path(__file__).resolve().parents[3]
    for root in (bundle_root(), checkout):
        if root is not None and (root / "dashboards" / "app.py").is_file():
            return root / "dashboards" / "app.py"
    raise MillraceError("there is no dashboards/app.py here", "Go to a checkout of Millrace and try again")


def last_error_line(program: Program) -> str:
    """The last error in a program's log."""
    return (last_error(program.log) or "its log is empty")[:300]


def _is_healthy(host: str, port: int, path: str) -> bool:
    # Not urllib, which would use a configured proxy.
    connection = http.client.HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
