import importlib.metadata
import subprocess
import sys

from kit.dashboards_folder import DASHBOARDS
from kit.home import ROOT
from lakehouse.contracts import TABLES


def test_no_dashboards_module_shadows_a_package() -> None:
    names = {path.stem for path in DASHBOARDS.iterdir()}
    ours = {"millrace", *(table.layer for table in TABLES.values()), "lakehouse"}
    installed = set(importlib.metadata.packages_distributions())
    assert not names & (ours | sys.stdlib_module_names | installed)


def test_dashboards_import_no_jobs_and_no_drivers() -> None:
    """Imports in a separate process, without the modules that this one has loaded."""
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r});"
        f"sys.path.insert(0, {str(DASHBOARDS)!r});"
        "import widgets.page, access, data_source, tables.sql_backend;"
        "from charts import sankey_chart, timeline_chart;"
        "from metrics import audience, campaigns, journeys, pipeline, quality, story, windows;"
        "forbidden = {'pyspark', 'gold', 'silver', 'bronze', 'pydantic_settings', 'databricks', 'duckdb'};"
        "print(sorted(forbidden & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
