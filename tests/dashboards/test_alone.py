"""The dashboards folder starts on its own, like on a platform that deploys only this folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit.dashboards_folder import DASHBOARDS
from kit.home import ROOT
from kit.running_dashboard import served
from kit.shop_warehouse import Shop
from kit.warehouse_builder import build_warehouse

REQUIREMENTS = DASHBOARDS / "requirements.txt"
OPEN_APP = """
import sys
from streamlit import config
from streamlit.testing.v1 import AppTest
config.set_option("server.address", "127.0.0.1")
page = AppTest.from_file(sys.argv[1], default_timeout=120).run()
assert not page.exception, page.exception
assert len(page.metric) == 5, page.metric
"""


def test_copied_dashboards_folder_starts_outside_checkout(shop: Shop, tmp_path: Path) -> None:
    build_warehouse(tmp_path, shop.tables)
    folder = copy_dashboards(tmp_path)
    with served(tmp_path, folder, PYTHONPATH="", PYTHONSAFEPATH="1"):
        pass
    environment = {**os.environ, "MILLRACE_HOME": str(tmp_path), "PYTHONPATH": ""}
    app = [sys.executable, "-c", OPEN_APP, str(folder / "app.py")]
    subprocess.run(app, cwd=folder, env=environment, check=True, capture_output=True)


@pytest.mark.long
def test_dashboards_start_with_only_their_requirements_and_the_wheel(shop: Shop, tmp_path: Path) -> None:
    """Runs in a new environment with the packages of requirements.txt, and with the wheel in the folder."""
    assert REQUIREMENTS.is_file(), "dashboards/requirements.txt is to say what the pages need"
    build_warehouse(tmp_path, shop.tables)
    folder, venv = copy_dashboards(tmp_path), tmp_path / "venv"
    uv = str(Path(sys.executable).with_name("uv"))
    python = str(venv / "bin" / "python")
    create = [uv, "venv", "--seed", "--python", sys.executable, str(venv)]
    subprocess.run(create, check=True, capture_output=True)
    install = [uv, "pip", "install", "--python", python, "--require-hashes", "-r", str(REQUIREMENTS)]
    subprocess.run(install, check=True, capture_output=True)
    subprocess.run([uv, "build", "--wheel", "--quiet", "--out-dir", str(folder)], cwd=ROOT, check=True)
    version = subprocess.run(
        [python, "run.py", "millrace", "--version"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "the extra `local`" in version.stderr, version
    with served(tmp_path, folder, python, PYTHONPATH=""):
        environment = {**os.environ, "MILLRACE_HOME": str(tmp_path), "PYTHONPATH": ""}
        app = [python, "-c", OPEN_APP, str(folder / "app.py")]
        subprocess.run(app, cwd=folder, env=environment, check=True, capture_output=True)


def copy_dashboards(place: Path) -> Path:
    folder = place / "app"
    shutil.copytree(DASHBOARDS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
