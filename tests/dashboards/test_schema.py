import importlib.metadata
import subprocess
import sys

from kit.dashboards_folder import DASHBOARDS
from kit.home import ROOT
from lakehouse.contracts import TABLES


def test_no_file_hides_a_package() -> None:
    names = {path.stem for path in DASHBOARDS.iterdir()}
    ours = {"millrace", *(table.layer for table in TABLES.values()), "lakehouse"}
    installed = set(importlib.metadata.packages_distributions())
    assert not names & (ours | sys.stdlib_module_names | installed)


def test_the_folder_imports_neither_jobs_nor_drivers() -> None:
    """In a process of its own."""
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r});"
        f"sys.path.insert(0, {str(DASHBOARDS)!r});"
        "import widgets.page, access, data_source, tables.databricks_sql;"
        "from charts import sankey_chart, timeline_chart;"
        "from metrics import audience, campaigns, journeys, pipeline, quality, story, windows;"
        "forbidden = {'pyspark', 'gold', 'silver', 'bronze', 'pydantic_settings', 'databricks', 'duckdb'};"
        "print(sorted(forbidden & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
