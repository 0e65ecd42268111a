"""The jobs that bundle.yml and what it includes define."""

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any

import yaml

from lakehouse.errors import MillraceError
from lakehouse.job import Job
from lakehouse.settings import BUNDLE_FILE, bundle_root


@dataclass(frozen=True)
class BundleJob:
    """One job of the bundle.

    Args:
        name: its resource key.
        entry_point: the script of the wheel that it runs.
        is_continuous: whether it goes on for ever, and isn't paused.
    """

    name: str
    entry_point: str
    is_continuous: bool

    @cached_property
    def job(self) -> Job:
        """What the entry point runs.

        Raises:
            MillraceError: if the installed wheel has no such entry point.
        """
        found = entry_points(group="console_scripts", name=self.entry_point)
        for script in found:
            job: Job = script.load()
            return job
        raise MillraceError(
            f"job {self.name} runs {self.entry_point}, which isn't installed", "Run `make setup` again"
        )


def bundle_jobs() -> dict[str, BundleJob]:
    """The jobs by name, in the bundle's order.

    Raises:
        MillraceError: if there is no bundle from here upward, or a file of it can't be read.
    """
    root = bundle_root()
    if root is None:
        raise MillraceError(f"there is no {BUNDLE_FILE} here or above", "Go to a checkout of Millrace")
    jobs: dict[str, BundleJob] = {}
    for pattern in _read(root / BUNDLE_FILE).get("include", []):
        for path in sorted(root.glob(pattern)):
            resources = _read(path).get("resources", {})
            jobs |= {name: _job(name, job) for name, job in resources.get("jobs", {}).items()}
    return jobs


def select_jobs(names: list[str]) -> list[BundleJob]:
    """The jobs of these names.

    Raises:
        MillraceError: for a name that the bundle doesn't have.
    """
    jobs = bundle_jobs()
    for name in names:
        if name not in jobs:
            raise MillraceError(
                f"the bundle has no job called {name}", f"It has {', '.join(jobs)}; see resources/"
            )
    return [jobs[name] for name in names]


def _job(name: str, job: dict[str, Any]) -> BundleJob:
    task = job["tasks"][0]["python_wheel_task"]
    paused = job.get("continuous", {}).get("pause_status") == "PAUSED"
    return BundleJob(name, task["entry_point"], "continuous" in job and not paused)


def _read(path: Any) -> dict[str, Any]:
    try:
        return yaml.safe_load(path.read_text()) or {}
    except yaml.YAMLError as error:
        where = str(error).replace("\n", " ")
        raise MillraceError(f"{path} is not valid YAML: {where}", "Correct it and try again") from error
