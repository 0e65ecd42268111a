"""The jobs of bundle.yml and its includes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import entry_points
from typing import Any

from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.local.bundle.bundle_resolver import Tree, read_tree, resolve


@dataclass(frozen=True)
class Task:
    """One task of a job.

    Args:
        key: its name in the job.
        entry_point: the script of the wheel that it runs.
        parameters: command-line arguments, as `--name=value`.
        known: the job, if it is not a script of the wheel.
    """

    key: str
    entry_point: str
    parameters: tuple[str, ...] = ()
    known: Job | None = None

    @cached_property
    def job(self) -> Job:
        """The job of the entry point.

        Raises:
            MillraceError: if the installed wheel has no such entry point.
        """
        if self.known is not None:
            return self.known
        for script in entry_points(group="console_scripts", name=self.entry_point):
            job: Job = script.load()
            return job
        raise MillraceError(
            f"task {self.key} runs {self.entry_point}, which isn't installed", "Run `make setup` again"
        )


@dataclass(frozen=True)
class Schedule:
    """When a job starts: a Quartz expression and its time zone."""

    expression: str
    time_zone: str


@dataclass(frozen=True)
class BundleJob:
    """One job of the bundle.

    Args:
        name: its resource key.
        tasks: tasks in dependency order.
        continuous: whether it is restarted whenever it ends.
        schedule: when it starts; None for a continuous job, or one that is started by a command.
        is_paused: whether it is neither continuous nor scheduled for now.
    """

    name: str
    tasks: tuple[Task, ...]
    continuous: bool = False
    schedule: Schedule | None = None
    is_paused: bool = False

    @classmethod
    def of(cls, job: Job) -> "BundleJob":
        """A job with one task that is not in the bundle."""
        return cls(job.name, (Task(job.name, job.name, known=job),))

    @property
    def is_continuous(self) -> bool:
        """Whether it is continuous and not paused."""
        return self.continuous and not self.is_paused

    @property
    def jobs(self) -> list[Job]:
        """The jobs of its tasks, in order."""
        return [task.job for task in self.tasks]


def bundle_tree(settings: Settings) -> Tree:
    """The resolved bundle for the settings' target; its variables have the values of the settings.

    Raises:
        MillraceError: if this folder and its parents have no bundle, or it can't be read.
    """
    root = bundle_root()
    if root is None:
        raise MillraceError(f"there is no {BUNDLE_FILE} here or above", "Go to a checkout of Millrace")
    tree = read_tree(root, settings.target)
    dumped = settings.model_dump(mode="json")
    in_force = {name: dumped[name] or "" for name in tree["variables"] if name in dumped}
    return resolve(tree, in_force)


def bundle_jobs(settings: Settings | None = None) -> dict[str, BundleJob]:
    """The jobs by name, in bundle order.

    Raises:
        MillraceError: if this folder and its parents have no bundle, or a file of it can't be read.
    """
    tree = bundle_tree(settings or load_settings())
    jobs: Tree = (tree.get("resources") or {}).get("jobs") or {}
    return {name: read_job(name, job) for name, job in jobs.items()}


def select_jobs(names: list[str]) -> list[BundleJob]:
    """Jobs by name.

    Raises:
        MillraceError: for a name that is not in the bundle.
    """
    jobs = bundle_jobs()
    for name in names:
        if name not in jobs:
            raise MillraceError(
                f"the bundle has no job called {name}", f"It has {', '.join(jobs)}; see resources/"
            )
    return [jobs[name] for name in names]


def read_job(name: str, job: Tree) -> BundleJob:
    """A job from its resource.

    Raises:
        MillraceError: if its tasks have a circular dependency, or depend on a missing task.
    """
    when: Tree = job.get("continuous") or job.get("schedule") or {}
    schedule = None
    if "schedule" in job:
        schedule = Schedule(when["quartz_cron_expression"], when.get("timezone_id", "UTC"))
    return BundleJob(
        name,
        tuple(_ordered(name, job.get("tasks") or [])),
        continuous="continuous" in job,
        schedule=schedule,
        is_paused=when.get("pause_status") == "PAUSED",
    )


def _ordered(name: str, tasks: list[Tree]) -> Iterator[Task]:
    """Tasks that run a wheel, in dependency order."""
    by_key = {task["task_key"]: task for task in tasks}
    graph = {key: [other["task_key"] for other in task.get("depends_on", ())] for key, task in by_key.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError:
        raise MillraceError(f"the tasks of {name} wait for each other", "Correct depends_on") from None
    for key in order:
        if key not in by_key:
            raise MillraceError(f"{name} has no task {key}, which another depends on", "Correct depends_on")
        if wheel := by_key[key].get("python_wheel_task"):
            yield Task(key, wheel["entry_point"], _parameters(wheel))


def _parameters(wheel: dict[str, Any]) -> tuple[str, ...]:
    named = wheel.get("named_parameters") or {}
    return (*map(str, wheel.get("parameters") or ()), *(f"--{name}={value}" for name, value in named.items()))
