"""Versions of the packages at hand; a runtime of a workspace has some without package metadata."""

import importlib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version

_MODULES = {"delta-spark": "delta", "mlflow-skinny": "mlflow"}
"""Packages whose module has another name."""


def version_of(package: str) -> str | None:
    """The version of a package, by its metadata, else by its module; None if neither tells."""
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
    """The packages as requirements, pinned to the version at hand where it is known."""
    for package in packages:
        found = version_of(package)
        yield f"{package}=={found}" if found else package
