"""Runs stub programs under a real supervisor: `stub_workspace.py HOME PROGRAM…`.

Programs are names of `PROGRAMS`. The others depend on the first.
"""

import logging
import sys
from datetime import timedelta
from pathlib import Path

from millrace.local.process.child_process import Child, Program
from millrace.local.process.service_runner import BackOff
from millrace.local.services import Service, last_error_line
from millrace.local.supervisor import Supervisor

_READY = "import pathlib, sys, time, signal, subprocess; pathlib.Path(sys.argv[1]).touch();"

PROGRAMS = {
    "calm": f"{_READY} time.sleep(600)",
    "stubborn": f"{_READY} signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "child = subprocess.Popen([sys.executable, '-c', 'import signal, time;"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)']);"
    "pathlib.Path(sys.argv[1] + '.child').write_text(str(child.pid)); time.sleep(600)",
    "broken": "raise RuntimeError('no luck')",
    "short": "pass",
}

BACK_OFF = BackOff(
    first=timedelta(milliseconds=200), limit=timedelta(seconds=1), healthy_after=timedelta(seconds=60)
)


def service(home: Path, name: str, needs: tuple[str, ...]) -> Service:
    sign = home / f"{name}.ready"
    program = Program(name, (sys.executable, "-c", PROGRAMS[name], str(sign)), home)

    def prepare() -> Program:
        sign.unlink(missing_ok=True)
        return program

    def is_ready(_: Child) -> bool:
        return sign.exists() and name != "short"

    return Service(
        name, prepare, is_ready, lambda: last_error_line(program), needs=needs, once=name == "short"
    )


def main() -> None:
    home, names = Path(sys.argv[1]), sys.argv[2:]
    logging.basicConfig(level=logging.INFO, stream=sys.stdout)
    services = [service(home, name, tuple(names[:1]) if place else ()) for place, name in enumerate(names)]
    Supervisor(home, services, back_off=BACK_OFF).run()


if __name__ == "__main__":
    main()
