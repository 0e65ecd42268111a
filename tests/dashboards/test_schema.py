import importlib.metadata
import subprocess
import sys

import pytest
from schema import COLUMNS

from kit.dashboards_folder import DASHBOARDS
from kit.warehouse_builder import schema_of
from lakehouse.contracts import TABLES


@pytest.mark.parametrize("name", COLUMNS.keys())
def test_the_pages_read_columns_of_the_contract_with_their_types(name: str) -> None:
    assert COLUMNS[name].items() <= schema_of(name).items()


def test_no_file_hides_a_package() -> None:
    names = {path.stem for path in DASHBOARDS.iterdir()}
    ours = {"millrace", *(table.layer for table in TABLES.values()), "lakehouse"}
    installed = set(importlib.metadata.packages_distributions())
    assert not names & (ours | sys.stdlib_module_names | installed)


def test_the_folder_imports_nothing_of_the_checkout_nor_drivers() -> None:
    """In a process of its own, with this folder alone on the path."""
    script = (
        "import sys; sys.path[:] = [p for p in sys.path if not p.endswith(('/src', '/tests'))];"
        f"sys.path.insert(0, {str(DASHBOARDS)!r});"
        "import widgets.page, access, data_source, tables.databricks_sql;"
        "from charts import sankey_chart, timeline_chart;"
        "from metrics import audience, campaigns, journeys, pipeline, quality, story, windows;"
        "forbidden = {'pyspark', 'lakehouse', 'gold', 'silver', 'millrace', 'databricks', 'duckdb'};"
        "print(sorted(forbidden & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
