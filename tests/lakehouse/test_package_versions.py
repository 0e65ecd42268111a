"""Versions of packages, also where a runtime has them without package metadata."""

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


def test_a_version_is_that_of_the_package() -> None:
    assert version_of("pyspark") == pyspark.__version__


def test_a_runtime_without_metadata_tells_the_version_by_the_module(without_metadata: None) -> None:
    assert version_of("pyspark") == pyspark.__version__
    assert version_of("delta-spark") == getattr(delta, "__version__", None)
    assert version_of("no-such-package") is None


def test_a_requirement_without_a_known_version_is_not_pinned(without_metadata: None) -> None:
    wanted = [f"pyspark=={pyspark.__version__}", "no-such-package"]
    assert list(requirements(["pyspark", "no-such-package"])) == wanted
