"""The jobs of bundle.yml and its includes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import entry_points

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
    """One job of the bundle, or one task of a continuous job.

    Args:
        name: its resource key, or the key of the task.
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
        MillraceError: if this folder and its parents have no bundle, a file of it can't be read, or two jobs
            have one name.
    """
    return read_jobs(bundle_tree(settings or load_settings()))


def read_jobs(tree: Tree) -> dict[str, BundleJob]:
    """The jobs of a resolved bundle by name. Tasks of a continuous job are jobs that restart alone.

    Raises:
        MillraceError: if tasks of a job can't be ordered, or two jobs have one name.
    """
    resources: Tree = (tree.get("resources") or {}).get("jobs") or {}
    jobs = [job for name, resource in resources.items() for job in _split(read_job(name, resource))]
    found = {job.name: job for job in jobs}
    if len(found) < len(jobs):
        raise MillraceError("two jobs or tasks of the bundle have one name", "Rename one in resources/")
    return found


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
    """A job from its resource. The job's parameters go to its tasks, over those of a task.

    Raises:
        MillraceError: if its tasks have a circular dependency, or depend on a missing task.
    """
    when: Tree = job.get("continuous") or job.get("schedule") or {}
    schedule = None
    if "schedule" in job:
        schedule = Schedule(when["quartz_cron_expression"], when.get("timezone_id", "UTC"))
    return BundleJob(
        name,
        tuple(_ordered(name, job)),
        continuous="continuous" in job,
        schedule=schedule,
        is_paused=when.get("pause_status") == "PAUSED",
    )


def _split(job: BundleJob) -> list[BundleJob]:
    if not job.continuous or len(job.tasks) < 2:
        return [job]
    return [replace(job, name=task.key, tasks=(task,)) for task in job.tasks]


def _ordered(name: str, job: Tree) -> Iterator[Task]:
    """Tasks that run a wheel, in dependency order."""
    by_key = {task["task_key"]: task for task in job.get("tasks") or []}
    given = {each["name"]: each["default"] for each in job.get("parameters") or []}
    graph = {key: [other["task_key"] for other in task.get("depends_on", ())] for key, task in by_key.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError:
        raise MillraceError(f"the tasks of {name} wait for each other", "Correct depends_on") from None
    for key in order:
        if key not in by_key:
            raise MillraceError(f"{name} has no task {key}, which another depends on", "Correct depends_on")
        if wheel := by_key[key].get("python_wheel_task"):
            yield Task(key, wheel["entry_point"], _parameters(wheel, given))


def _parameters(wheel: Tree, given: Tree) -> tuple[str, ...]:
    """Arguments of a task. As on a workspace, one without named parameters gets none of its job."""
    named = wheel.get("named_parameters") or {}
    named = {**named, **given} if named else {}
    return (*map(str, wheel.get("parameters") or ()), *(f"--{name}={value}" for name, value in named.items()))
