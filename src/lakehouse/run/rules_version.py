"""The version of the rules in conf/."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from lakehouse.bundle_file import parse_yaml

LENGTH = 12
_NO_RULES = ("sources.yml", "access.yml", "log_formats.yml", "retention.yml")


def rules_version(conf: Path) -> str:
    """Version of the content of all files in conf/; layout and comments do not count.

    Args:
        conf: the folder, of YAML files.

    Returns:
        12 hexadecimal digits.

    Raises:
        MillraceError: if a file isn't valid YAML.
    """
    return version_of_texts(read_rule_texts(conf))


def rule_files(conf: Path) -> list[Path]:
    """Files of the version, in order; those on senders, readers, logs and retention change no row."""
    return sorted(file for file in conf.glob("*.yml") if file.name not in _NO_RULES)


def read_rule_texts(conf: Path) -> dict[str, str]:
    """By file name, its text, comments included."""
    return {file.name: file.read_text(encoding="utf-8") for file in rule_files(conf)}


def version_of_texts(texts: Mapping[str, str]) -> str:
    """The version of these files; see `rules_version`."""
    return _version_of(tuple(texts.items()))


@lru_cache(maxsize=4)
def _version_of(texts: tuple[tuple[str, str], ...]) -> str:
    """Cached by text: jobs ask for each micro-batch, and parsing YAML is slow."""
    said = {name.removesuffix(".yml"): parse_yaml(text, name) for name, text in texts}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:LENGTH]
