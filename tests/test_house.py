"""Rules for every file of the repository: size, docstrings, terms, paths, pins and entry points."""

import ast
import importlib
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAX_LINES = 250
PACKAGES = (
    *("bronze", "folds", "gold", "intake", "lakehouse", "millrace"),
    *("privacy", "serving", "shop", "silver"),
)

# Concatenated, so that this file does not match its own patterns.
REGISTRIES = ("pypi" + ".org", "python" + "hosted.org", "maven" + ".org", "maven" + ".apache.org")
MACHINE_PATHS = re.compile(r"(?<![\w.~$}/-])/(?:" + "root|home|Users|work|private" + r")/\w")


def tracked_files() -> list[Path]:
    """The files under version control that exist on disk."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [file for file in files if file.is_file()]


def texts() -> dict[str, str]:
    """The contents of tracked text files, by path from the root."""
    found = {}
    for file in tracked_files():
        with suppress(UnicodeDecodeError):
            found[str(file.relative_to(ROOT))] = file.read_text(encoding="utf-8")
    return found


def modules() -> list[Path]:
    return sorted((ROOT / "src").rglob("*.py"))


def test_modules_have_at_most_250_lines() -> None:
    sizes = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in modules()}
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}


def test_modules_have_docstrings() -> None:
    silent = [str(file) for file in modules() if not ast.get_docstring(ast.parse(file.read_text()))]
    assert silent == []


def test_wheel_contains_all_packages() -> None:
    built = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(built) == [f"src/{name}" for name in PACKAGES]
    assert sorted(
        folder.name for folder in (ROOT / "src").iterdir() if (folder / "__init__.py").is_file()
    ) == [*PACKAGES]


def test_src_and_tests_are_not_packages() -> None:
    assert [str(file) for top in ("src", "tests") for file in (ROOT / top).glob("__init__.py")] == []
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_module_is_named_utils_common_or_helpers() -> None:
    assert [
        str(path) for path in (ROOT / "src").rglob("*") if path.stem in {"utils", "common", "helpers"}
    ] == []


def test_programs_of_the_test_kit_shadow_no_package() -> None:
    """Python looks in the folder of the program that it runs before it looks for packages."""
    assert {path.stem for path in (ROOT / "tests" / "kit").iterdir()} & {*PACKAGES} == set()


NON_STANDARD_WORDS = re.compile(
    r"(?<![a-z])(told|telling|hears?|hearing|settled?|swap(s|ped)?|restated?|sparing|spared|patience|anew|begun"
    r"|meanwhile|besides|errands?|keepers?|tether|verdicts?|judges?|offers?)(?![a-z])"
)
"""Words replaced by standard terms: metadata, side input, checkpoint, merge, throttle, rebuild, start, …"""


@pytest.mark.parametrize("folder", ["src", "dashboards"])
def test_code_uses_standard_terms(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{number}": match[0]
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (
            match := NON_STANDARD_WORDS.search(
                line.lower().replace("compare_and_swap", "").replace("_swap", "")
            )
        )
    }
    assert found == {}


def test_no_file_contains_a_machine_specific_path() -> None:
    found = {name: match[0] for name, text in texts().items() if (match := MACHINE_PATHS.search(text))}
    assert found == {}


def test_no_file_contains_a_package_registry_host() -> None:
    assert [name for name, text in texts().items() if any(host in text for host in REGISTRIES)] == []


def test_lock_file_pins_with_hashes_and_contains_no_url() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert re.findall(r"https?://|file://|--find-links|--index-url|--extra-index-url", lock) == []
    pins = [line for line in lock.splitlines() if line[:1].isalnum()]
    assert [pin for pin in pins if "==" not in pin or not pin.endswith("\\")] == []
    assert not (ROOT / "uv.lock").exists()


def test_lock_file_pins_every_declared_dependency() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    project = PROJECT["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["local"]
    wanted += PROJECT["dependency-groups"]["dev"]
    names = [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in wanted]
    assert [name for name in names if not re.search(rf"^{re.escape(name)}==", lock, re.MULTILINE)] == []


@pytest.mark.parametrize("target", PROJECT["project"]["scripts"].values())
def test_every_entry_point_is_callable(target: str) -> None:
    module, _, function = target.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_every_lint_exception_has_a_comment() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    codes = [line for line in lines if re.match(r'^  "[A-Z]+\d*",?\s*(#.*)?$', line)]
    assert codes
    assert [line for line in codes if "# " not in line] == []
