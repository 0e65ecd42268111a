import sys

import pytest
from columns import COLUMNS

from kit.dashboards_folder import DASHBOARDS
from kit.warehouse_builder import schema_of
from lakehouse.contracts import TABLES


@pytest.mark.parametrize("name", COLUMNS)
def test_the_page_reads_columns_of_the_contract_with_their_types(name: str) -> None:
    assert COLUMNS[name].items() <= schema_of(name).items()


def test_no_file_hides_a_package_of_ours_or_of_the_standard_library() -> None:
    names = {path.stem for path in DASHBOARDS.iterdir()}
    ours = {"millrace", *(table.layer for table in TABLES.values()), "lakehouse"}
    assert not names & (ours | sys.stdlib_module_names)


def test_the_page_imports_nothing_of_the_checkout() -> None:
    text = "".join(path.read_text() for path in DASHBOARDS.glob("*.py"))
    for package in ("lakehouse", "bronze", "silver", "gold", "millrace", "pyspark"):
        assert f"import {package}" not in text
        assert f"from {package}" not in text
