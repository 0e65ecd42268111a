"""bundle.yml: its location, and its variables in a target."""

from pathlib import Path
from typing import Any

import yaml

from lakehouse.errors import MillraceError

BUNDLE_FILE = "bundle.yml"
LOCAL_TARGET = "local"
"""The target of this machine; `default` in the file marks the one that the Databricks command line takes."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml is ten times as fast."""


def bundle_root() -> Path | None:
    """The nearest folder with a bundle.yml, from here upwards; else this checkout; None without the file."""
    here = Path.cwd()
    checkout = Path(__file__).resolve().parents[2]
    for folder in (here, *here.parents, checkout):
        if (folder / BUNDLE_FILE).is_file():
            return folder
    return None


def conf_folder() -> Path:
    """The rules as data: `conf/` beside bundle.yml, else the wheel's own."""
    root = bundle_root()
    return root / "conf" if root else Path(__file__).with_name("conf")


def read_yaml(path: Path) -> dict[str, Any]:
    """The content of a YAML file; empty for an empty file.

    Raises:
        MillraceError: if it isn't valid.
    """
    return parse_yaml(path.read_text(encoding="utf-8"), str(path)) or {}


def parse_yaml(text: str, name: str) -> Any:
    """The content of a YAML text; None for an empty text.

    Raises:
        MillraceError: if it isn't valid; it names the file.
    """
    try:
        return yaml.load(text, _LOADER)
    except yaml.YAMLError as error:
        where = " ".join(str(error).split())
        raise MillraceError(f"{name} is not valid YAML: {where}", "Correct it and try again") from error


def read_private_yaml(file: Path, next_step: str) -> Any:
    """The content of a YAML file that may hold secrets: errors do not repeat it. None without a file.

    Args:
        file: in conf/.
        next_step: what to do if it isn't valid.

    Raises:
        MillraceError: if it isn't valid.
    """
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise MillraceError(f"conf/{file.name} is no YAML{where}", next_step) from None


def choose_target(bundle: dict[str, Any], target: str | None) -> str | None:
    """The target with that name; without a name `local`, else the default one, else None.

    Raises:
        MillraceError: if there is no target of that name.
    """
    targets: dict[str, Any] = bundle.get("targets") or {}
    if target is None:
        marked = [name for name, values in targets.items() if (values or {}).get("default")]
        return next(iter([LOCAL_TARGET] if LOCAL_TARGET in targets else marked), None)
    if target not in targets:
        raise MillraceError(
            f"{BUNDLE_FILE} has no target called {target}", f"It has {', '.join(targets) or 'none'}"
        )
    return target


def variables_of(bundle: dict[str, Any], target: str | None) -> dict[str, Any]:
    """The variables of a target: its own values, else the defaults, else None.

    Raises:
        MillraceError: if there is no such target.
    """
    chosen = choose_target(bundle, target)
    variables = {name: (spec or {}).get("default") for name, spec in (bundle.get("variables") or {}).items()}
    own = ((bundle.get("targets") or {}).get(chosen) or {}).get("variables") or {}
    for name, spec in own.items():
        if name not in variables:
            raise MillraceError(
                f"target {chosen} of {BUNDLE_FILE} sets {name}, which is no variable", "Declare it there"
            )
        is_spec = isinstance(spec, dict) and "default" in spec
        variables[name] = spec["default"] if is_spec else spec
    return variables
