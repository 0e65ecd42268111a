"""Predictive optimization: set as configured, and read from the workspace."""

import pytest
from pyspark.errors import AnalysisException

from lakehouse.errors import MillraceError
from lakehouse.maintenance.compaction import set_file_size
from lakehouse.maintenance.file_sizes import Compacted
from lakehouse.maintenance.predictive_optimization import optimized_schemas
from lakehouse.settings import Settings

Row = tuple[str, str]


class _Workspace:
    """A session that answers the statements on schemas; `values` has the value of each schema."""

    def __init__(self, values: dict[str, str], *, is_refused: bool = False) -> None:
        self.values = values
        self.altered: list[str] = []
        self._is_refused = is_refused
        self._rows: list[Row] = []

    def sql(self, statement: str) -> "_Workspace":
        words = statement.replace("`", "").split()
        if words[0] == "ALTER":
            if self._is_refused:
                raise AnalysisException("PERMISSION_DENIED: not the owner.")
            self.values[words[2]] = words[3]
            self.altered.append(words[2])
            return self
        value = self.values[words[3]]
        self._rows = [("Catalog Name", "main"), *([("Predictive Optimization", value)] if value else [])]
        return self

    def collect(self) -> list[Row]:
        return self._rows


def _settings(choice: str, catalog: str | None = "main") -> Settings:
    return Settings(catalog=catalog, predictive_optimization=choice)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("choice", "before", "altered", "is_optimized"),
    [
        ("INHERIT", "", False, False),
        ("INHERIT", "DISABLE (inherited from CATALOG main)", False, False),
        ("INHERIT", "ENABLE (inherited from METASTORE here)", False, True),
        ("ENABLE", "ENABLE (inherited from METASTORE here)", True, True),
        ("ENABLE", "ENABLE", False, True),
        ("ENABLE", "DISABLE", True, True),
        ("DISABLE", "ENABLE (inherited from METASTORE here)", True, False),
        ("DISABLE", "DISABLE", False, False),
    ],
)
def test_setting_is_applied_and_the_value_in_force_is_read(
    choice: str, before: str, altered: bool, is_optimized: bool
) -> None:
    workspace = _Workspace({"main.silver": before})
    found = optimized_schemas(workspace, _settings(choice), {"silver"})  # type: ignore[arg-type]
    assert (workspace.altered == ["main.silver"]) == altered
    assert (found == {"silver"}) == is_optimized


def test_each_schema_has_its_own_value() -> None:
    workspace = _Workspace({"main.silver": "ENABLE", "main.gold": "DISABLE"})
    assert optimized_schemas(workspace, _settings("INHERIT"), {"silver", "gold"}) == {"silver"}  # type: ignore[arg-type]


def test_tables_in_a_folder_are_not_optimized() -> None:
    assert optimized_schemas(_Workspace({}), _settings("ENABLE", None), {"silver"}) == set()  # type: ignore[arg-type]


def test_refused_setting_is_one_line_with_a_next_step() -> None:
    workspace = _Workspace({"main.silver": "DISABLE"}, is_refused=True)
    with pytest.raises(MillraceError, match=r"optimization of `main`\.`silver` can't be set") as error:
        optimized_schemas(workspace, _settings("ENABLE"), {"silver"})  # type: ignore[arg-type]
    assert "INHERIT" in str(error.value)


class _Table:
    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self.commits = 0

    def set_properties(self, properties: dict[str, str]) -> None:
        self.properties |= properties
        self.commits += 1

    def compact(self) -> Compacted:
        raise AssertionError("the workspace does it")

    def delete(self, condition: str) -> None:
        raise AssertionError(condition)

    def vacuum(self) -> None:
        raise AssertionError("the workspace does it")


def test_file_size_is_set_once_and_is_smaller_for_merged_tables() -> None:
    merged, appended = _Table(), _Table()
    for _ in range(2):
        set_file_size(merged, "gold.conversions")  # type: ignore[arg-type]
        set_file_size(appended, "silver.events")  # type: ignore[arg-type]
    assert (merged.commits, appended.commits) == (1, 1)
    assert int(*merged.properties.values()) < int(*appended.properties.values())
