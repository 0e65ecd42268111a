"""Entry points of jobs. PySpark is imported only when a job runs."""

import importlib
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakehouse.errors import ConcurrentChangeError, MillraceError
from lakehouse.run.job_args import Parameter, Parameters, parse_parameters
from lakehouse.settings import load_settings

if TYPE_CHECKING:
    from lakehouse.run.job import JobContext

Body = Callable[["JobContext"], None]

_ATTEMPTS = 5
_PAUSE_SECONDS = 2.0  # after the first attempt; longer after each later one


@dataclass(frozen=True)
class Job:
    """A job: its name and its function. Calling it runs it as an entry point.

    Args:
        name: as in the bundle.
        body: the job's function; it gets the context of the run.
        summary: what it does, in a line, for the help.
        parameters: the job's own, without settings.
    """

    name: str
    body: Body
    summary: str = ""
    parameters: tuple[Parameter, ...] = ()

    @classmethod
    def imported(cls, name: str, target: str, summary: str, *parameters: Parameter) -> "Job":
        """A job whose function is imported when it runs.

        Args:
            name: as in the bundle.
            target: the body, as `module:function`.
            summary: what it does, in a line.
            parameters: the job's own, without settings.
        """
        return cls(name, _importing(target), summary, parameters)

    def __call__(self, argv: Sequence[str] | None = None) -> None:
        """Run stand-alone, as an entry point of the wheel."""
        given = self.parse(sys.argv[1:] if argv is None else argv)
        stop = threading.Event()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: stop.set())
        try:
            self._run(given, stop)
        except MillraceError as error:
            raise SystemExit(f"millrace-{self.name}: {error}") from error

    def parse(self, argv: Sequence[str]) -> Parameters:
        """Parse parameters. Unknown ones are an error."""
        return parse_parameters(self.name, self.summary, argv, self.parameters)

    def _run(self, given: Parameters, stop: threading.Event) -> None:
        settings = load_settings(**given.settings)
        try:
            from lakehouse.run.job import JobContext, PrintingListener
            from lakehouse.run.job_session import get_or_start_session
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] not in ("pyspark", "delta"):
                raise
            raise MillraceError(
                f"there is no Spark: the package {error.name} isn't installed",
                "Run it on a workspace or a cluster, or install Millrace's wheel with the extra `local`",
            ) from error
        listener = PrintingListener()
        with get_or_start_session(settings) as spark:
            for attempt in range(1, _ATTEMPTS + 1):
                run = JobContext(self.name, spark, settings, given.once, stop, listener, parameters=given.own)
                if self._is_done(run, is_last=attempt == _ATTEMPTS) or stop.wait(_PAUSE_SECONDS * attempt):
                    return

    def _is_done(self, run: "JobContext", *, is_last: bool) -> bool:
        """Run the job; False if another application's commit conflicts, and it has to start over."""
        try:
            self.body(run)
        except ConcurrentChangeError:
            if is_last:
                raise
            return False
        return True


def _importing(target: str) -> Body:
    module, _, function = target.partition(":")

    def body(run: "JobContext") -> None:
        getattr(importlib.import_module(module), function)(run)

    return body
