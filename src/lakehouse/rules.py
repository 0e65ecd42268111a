"""The version of the rules in conf/."""

import hashlib
import json
from pathlib import Path

import yaml

LENGTH = 12


def rules_version(conf: Path) -> str:
    """Derived from what all files of conf/ say; how they are laid out, and comments, do not count.

    Args:
        conf: the folder, of YAML files.

    Returns:
        12 hexadecimal digits.
    """
    said = {file.stem: yaml.safe_load(file.read_text()) for file in sorted(conf.glob("*.yml"))}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:LENGTH]
