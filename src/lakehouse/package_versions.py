"""Versions of installed packages; some runtimes lack package metadata."""

import importlib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version

_MODULES = {"delta-spark": "delta", "mlflow-skinny": "mlflow"}
"""Packages whose module has another name."""


def version_of(package: str) -> str | None:
    """Version of a package, from its metadata or its module; None if unknown."""
    try:
        return version(package)
    except PackageNotFoundError:
        pass
    try:
        module = importlib.import_module(_MODULES.get(package, package.replace("-", "_")))
    except ImportError:
        return None
    found = getattr(module, "__version__", None)
    return str(found) if found else None


def requirements(packages: Iterable[str]) -> Iterator[str]:
    """Packages as requirements, pinned to the installed version where it is known."""
    for package in packages:
        found = version_of(package)
        yield f"{package}=={found}" if found else package
