"""`millrace crawlers`: import of newer lists of crawlers into conf/."""

import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from kit.home import ROOT
from lakehouse.bundle_file import BUNDLE_FILE
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands
from millrace.operations.crawler_list import FILE, LICENCE_FILE, SOURCES, convert, plain_names, render

JSON_LIST = json.dumps(
    [{"pattern": each} for each in ("Googlebot\\/", "[wW]get", "A|B", "x.*y", "Netumo|netumo")]
)
PYTHON_LIST = 'data = [\n    r"^Java\\/[0-9]",\n    r"wget",\n]\n'


def write_wheel(folder: Path, package: str, member: str, text: str, version: str = "1.2") -> Path:
    stem = f"{package.replace('-', '_')}-{version}"
    file = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr(member, text)
        wheel.writestr(f"{stem}.dist-info/METADATA", f"Name: {package}\nVersion: {version}\n")
        wheel.writestr(f"{stem}.dist-info/licenses/LICENSE", f"MIT License of {package}\n")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a wheel of each package."""
    found = tmp_path / "wheels"
    found.mkdir()
    for source, text in zip(SOURCES, (JSON_LIST, PYTHON_LIST), strict=True):
        write_wheel(found, source.package, source.member, text)
    return found


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundle that a test may write to."""
    shutil.copytree(ROOT / "conf", tmp_path / "bundle" / "conf")
    shutil.copy(ROOT / BUNDLE_FILE, tmp_path / "bundle")
    monkeypatch.chdir(tmp_path / "bundle")
    return tmp_path / "bundle"


def run(*arguments: str) -> Result:
    if not app.registered_commands:
        register_commands()
    return CliRunner().invoke(app, ["crawlers", *arguments])


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("Googlebot\\/", ["googlebot/"]),
        ("[cC]laude[bB]ot", ["claudebot"]),
        ("Netumo|netumo", ["netumo"]),
        ("Automaton|Newsify Feed Fetcher", ["automaton", "newsify feed fetcher"]),
        ("^Java\\/[0-9]", ["^java/"]),
        ("PTST\\/[0-9]+", ["ptst/"]),
        ("(^| )sentry\\/", ["sentry/"]),
        ("SSL Labs$", ["ssl labs$"]),
        (" YLT", ["ylt"]),
        ("2ip\\.ru", ["2ip.ru"]),
        ("http:\\/\\/www.neomo.de\\/", ["http://www.neomo.de/"]),
        ("[aA]b|x.*y", []),
        ("Ahrefs(Bot|SiteAudit)", []),
        ("Yandex(?!Search)", []),
        ("[ab]cd", []),
        ("AB", []),
        ("\\bword", []),
        ("|", []),
        ("", []),
    ],
)
def test_pattern_of_a_list_is_names_or_left_out(pattern: str, names: list[str]) -> None:
    assert plain_names(pattern) == names


def test_names_of_both_packages_are_merged(folder: Path) -> None:
    found = convert(folder)
    assert found.names == ["^java/", "googlebot/", "netumo", "wget"]
    assert found.refused == ["A|B", "x.*y"]
    assert found.versions == {"crawler-user-agents": "1.2", "crawlerdetect": "1.2"}


def test_module_of_a_package_is_read_and_never_run(folder: Path) -> None:
    source = SOURCES[1]
    write_wheel(folder, source.package, source.member, "data = [open('/etc/passwd').read()]")
    with pytest.raises(MillraceError, match=r"crawlerdetect-1.2-.* has no list that can be read"):
        convert(folder)


@pytest.mark.parametrize("text", ["", "{", "data = 1", "[{}]", "[1]", "\0"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.package)
def test_package_without_list_is_named(folder: Path, source: Any, text: str) -> None:
    write_wheel(folder, source.package, source.member, text)
    with pytest.raises(MillraceError, match=r"has no list that can be read"):
        convert(folder)


def test_folder_needs_one_wheel_of_each_package(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(MillraceError, match="has 0 wheels of crawler-user-agents"):
        convert(tmp_path)
    write_wheel(folder, SOURCES[1].package, SOURCES[1].member, PYTHON_LIST, "2.0")
    with pytest.raises(MillraceError, match="has 2 wheels of crawlerdetect"):
        convert(folder)


def test_newer_lists_are_imported_and_changes_printed(folder: Path, bundle: Path) -> None:
    file = bundle / "conf" / FILE
    before = yaml.safe_load(file.read_text())["names"]
    shown = run(str(folder)).stdout
    document = yaml.safe_load(file.read_text())
    assert document["names"] == ["^java/", "googlebot/", "netumo", "wget"]
    assert document["licence"] == "MIT"
    assert [source["version"] for source in document["sources"]] == ["1.2", "1.2"]
    gone = set(before) - set(document["names"])
    assert f"4 names of crawler-user-agents 1.2, crawlerdetect 1.2; 0 new, {len(gone):,} gone" in shown
    assert {line[4:] for line in shown.splitlines() if line.startswith("  - ")} == gone
    assert "no plain name, left out: x.*y" in shown
    assert "MIT License of crawlerdetect" in (bundle / "conf" / LICENCE_FILE).read_text()
    written = file.read_text()
    assert "; 0 new, 0 gone" in run(str(folder)).stdout
    assert file.read_text() == written


def test_wheels_are_fetched_by_pip(folder: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pip(asked: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert asked[1:4] == ["-m", "pip", "download"]
        assert asked[-2:] == ["crawler-user-agents", "crawlerdetect"]
        shutil.copytree(folder, asked[asked.index("--dest") + 1], dirs_exist_ok=True)
        return subprocess.CompletedProcess(asked, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    assert "4 names of" in run().stdout
    failed = subprocess.CompletedProcess[str]([], 1, "", "WARNING: x\nERROR: no network\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    assert "the lists could not be fetched: ERROR: no network" in str(run().exception)


def test_shipped_list_is_as_written_by_the_command(folder: Path) -> None:
    text = (ROOT / "conf" / FILE).read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    found = convert(folder)
    versions = {source["package"]: source["version"] for source in document["sources"]}
    shipped = type(found)(document["names"], versions, {}, [])
    assert text == render(shipped, document["date"])
    licences = (ROOT / "conf" / LICENCE_FILE).read_text(encoding="utf-8")
    assert licences.count("Permission is hereby granted") == len(SOURCES)
