"""Versions of packages, also in runtimes without package metadata."""

from importlib.metadata import PackageNotFoundError

import delta
import pyspark
import pytest

from lakehouse import package_versions
from lakehouse.package_versions import requirements, version_of


@pytest.fixture
def without_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(package_versions, "version", missing)


def test_version_equals_that_of_installed_package() -> None:
    assert version_of("pyspark") == pyspark.__version__


def test_version_is_read_from_module_without_package_metadata(without_metadata: None) -> None:
    assert version_of("pyspark") == pyspark.__version__
    assert version_of("delta-spark") == getattr(delta, "__version__", None)
    assert version_of("no-such-package") is None


def test_requirement_without_known_version_is_not_pinned(without_metadata: None) -> None:
    wanted = [f"pyspark=={pyspark.__version__}", "no-such-package"]
    assert list(requirements(["pyspark", "no-such-package"])) == wanted
