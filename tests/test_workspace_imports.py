"""Workspace jobs import no package that only the extra `local` installs."""

import subprocess
import sys
from importlib.metadata import distribution

_MISSING = (
    "altair",
    "apscheduler",
    "deltalake",
    "duckdb",
    "filelock",
    "polars",
    "psutil",
    "streamlit",
    "typer",
)
_SCRIPT = """
import importlib, sys
missing = set(sys.argv[1].split(","))

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name}")

sys.meta_path.insert(0, Missing())
for module in sys.argv[2:]:
    importlib.import_module(module)
"""
_JOBS = (
    "bronze.job",
    "silver.silver_job",
    "gold.publish_job",
    "gold.models.model_job",
    "gold.gate.quality_job",
)
_COMMANDS = (
    "lakehouse.maintenance.maintenance_job",
    "millrace.operations.bodies",
    "bronze.recover",
    "millrace.operations.replay",
)
_AUDIT = ("millrace.audit.comparisons", "millrace.explain.conversion", "millrace.explain.render")


def test_workspace_jobs_import_no_package_of_extra_local() -> None:
    entries = [
        each.module for each in distribution("millrace").entry_points if each.name.startswith("millrace-")
    ]
    modules = dict.fromkeys([*entries, *_JOBS, *_COMMANDS, *_AUDIT])
    command = [sys.executable, "-c", _SCRIPT, ",".join(_MISSING), *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
