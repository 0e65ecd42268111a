"""Checks of the computer: Python, Java, memory, disk, browser."""

import shutil
import subprocess
import sys
from pathlib import Path

import psutil

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.environment.check import Finding, fail, ok, warn
from millrace.environment.jar_lock import cache_folder
from millrace.environment.java import java_executable, java_version

_GIGABYTE = 1_000_000_000
_MEMORY_NEEDED, _MEMORY_EASY = 3 * _GIGABYTE, 6 * _GIGABYTE  # available, for Spark, broker and dashboard
_DISK_NEEDED, _DISK_EASY = 1 * _GIGABYTE, 5 * _GIGABYTE  # free disk space for jars, logs and tables
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_OLDEST_PYTHON = (3, 10)


def check_python(_settings: Settings) -> Finding:
    """The running Python version."""
    version = sys.version.split()[0]
    if sys.version_info < _OLDEST_PYTHON:
        return fail("Python", version, "Install Python 3.10 or later, then run make clean setup")
    return ok("Python", f"{version} at {sys.executable}")


def check_java(_settings: Settings) -> Finding:
    """A Java version that Spark and Kafka support, with the Java module that Spark needs."""
    try:
        java = java_executable()
    except MillraceError as error:
        return fail("Java", error.problem, error.next_step)
    command = [str(java), "--add-modules", "jdk.incubator.vector", "-version"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return fail(
            "Java",
            f"{java} is a cut-down runtime: jdk.incubator.vector is missing",
            "Install a whole one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless)",
        )
    return ok("Java", f"{java_version(java)} at {java}")


def check_memory(_settings: Settings) -> Finding:
    """Available memory, including caches."""
    available, total = psutil.virtual_memory().available, psutil.virtual_memory().total
    seen = f"{available / _GIGABYTE:.1f} of {total / _GIGABYTE:.1f} GB available"
    if available < _MEMORY_NEEDED:
        return fail("memory", seen, "Close other programs: Spark, Kafka and the pages need 3 GB at the least")
    if available < _MEMORY_EASY:
        return warn("memory", seen, "6 GB make it comfortable; MILLRACE_SPARK_MEMORY=1g asks for less")
    return ok("memory", seen)


def check_disk(settings: Settings) -> Finding:
    """Free space for tables and jars."""
    places = [_existing(settings.home), _existing(cache_folder())]
    place = min(places, key=lambda folder: shutil.disk_usage(folder).free)
    free = shutil.disk_usage(place).free
    seen = f"{free / _GIGABYTE:.1f} GB free at {place}"
    if free < _DISK_NEEDED:
        return fail("disk", seen, "Free some, or move: MILLRACE_HOME for tables, MILLRACE_CACHE for jars")
    if free < _DISK_EASY:
        return warn("disk", seen, "Enough to start; a million events and their tables take about 1 GB")
    return ok("disk", seen)


def check_browser(_settings: Settings) -> Finding:
    """A Chromium browser, which only the browser tests need."""
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        return warn("Chromium", "none", "Only the browser tests need it (Debian: apt-get install chromium)")
    return ok("Chromium", found)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())
