"""`millrace referrers`: import of a newer list of hosts into conf/."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from kit.home import REAL_LOG, ROOT
from lakehouse.bundle_file import BUNDLE_FILE
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands
from millrace.operations.referrer_list import FILE, KINDS, convert, render

LIST = REAL_LOG.parent / "referrers"
AI = "Chat: [chat.example.com, www.both.example]"
SOCIAL = "Net: [WWW.net.example, 'net.example/path/', both.example]"
SEARCH = """
Engine: [{urls: ['engine.{}', '{}.engine.example', 'images.{}.ask.example', both.example], params: [q]}]
App: [{urls: ['android-app//com.engine.app/x']}]
Nothing: [{params: [q]}]
"""


def write(folder: Path, *texts: str) -> Path:
    for name, text in zip(KINDS.values(), texts, strict=True):
        (folder / name).write_text(text)
    return folder


def run(*arguments: str) -> Result:
    if not app.registered_commands:
        register_commands()
    return CliRunner().invoke(app, ["referrers", *arguments])


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundle that a test may write to."""
    shutil.copytree(ROOT / "conf", tmp_path / "bundle" / "conf")
    shutil.copy(ROOT / BUNDLE_FILE, tmp_path / "bundle")
    monkeypatch.chdir(tmp_path / "bundle")
    return tmp_path / "bundle"


def test_list_is_converted_to_hosts_of_one_kind_each(tmp_path: Path) -> None:
    assert convert(write(tmp_path, AI, SOCIAL, SEARCH)) == {
        "ai": ["both.example", "chat.example.com"],
        "social": ["net.example", "net.example/path"],
        "search": ["ask.example", "com.engine.app/x", "engine.example", "engine.{}"],
    }


@pytest.mark.parametrize("wrong", ["no host", "'*.example'", "7", "''"])
def test_invalid_host_is_rejected(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(MillraceError, match=r"Socials.yml: .* is no host"):
        convert(write(tmp_path, AI, f"Net: [{wrong}]", SEARCH))


def test_missing_list_file_is_named_in_error(tmp_path: Path) -> None:
    with pytest.raises(MillraceError, match=r"AIAssistants.yml is not there"):
        convert(tmp_path)


def test_shipped_referrers_equal_the_converted_list() -> None:
    if not LIST.is_dir():
        pytest.skip(f"the list is not there: {LIST}")
    text = (ROOT / "conf" / FILE).read_text(encoding="utf-8")
    reported = yaml.safe_load(text)
    assert text == render(convert(LIST), reported["commit"], reported["date"])
    readme = (LIST / "README.md").read_text(encoding="utf-8")
    assert f"commit {reported['commit']} of {reported['date']}" in readme


def test_newer_list_is_imported_and_changes_are_counted(tmp_path: Path, bundle: Path) -> None:
    folder = tmp_path / "list"
    folder.mkdir()
    write(folder, AI, SOCIAL, SEARCH)
    shown = run(str(folder), "--commit", "abcdef1", "--date", "2027-01-02").stdout
    reported = yaml.safe_load((bundle / "conf" / FILE).read_text())
    assert (reported["commit"], reported["date"], reported["licence"]) == ("abcdef1", "2027-01-02", "CC0-1.0")
    assert reported["hosts"] == convert(folder)
    assert "2 ai, 2 social, 4 search; 8 new, " in shown
    assert "; 0 new, 0 gone" in run(str(folder), "--commit", "abcdef1", "--date", "2027-01-02").stdout


def test_commit_and_date_default_to_those_of_git_checkout(tmp_path: Path, bundle: Path) -> None:
    folder = tmp_path / "list"
    folder.mkdir()
    write(folder, AI, SOCIAL, SEARCH)
    assert "is no Git checkout" in str(run(str(folder)).exception)
    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x", "--date", "2026-01-01T00:00:00Z"], check=True)
    assert run(str(folder)).exit_code == 0
    reported = yaml.safe_load((bundle / "conf" / FILE).read_text())
    assert len(reported["commit"]) >= 7
    assert len(reported["date"]) == len("2026-01-01")


@pytest.mark.parametrize("given", [("abcdef1", "soon"), ("HEAD", "2027-01-02")])
def test_invalid_commit_or_date_is_rejected(tmp_path: Path, bundle: Path, given: tuple[str, str]) -> None:
    before = (bundle / "conf" / FILE).read_text()
    write(tmp_path, AI, SOCIAL, SEARCH)
    assert "is no commit and date" in str(
        run(str(tmp_path), "--commit", given[0], "--date", given[1]).exception
    )
    assert (bundle / "conf" / FILE).read_text() == before
