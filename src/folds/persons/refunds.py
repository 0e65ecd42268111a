"""Which goals take others back: conf/roles.yml."""

from pathlib import Path

import yaml


def load_refunds(conf: Path) -> dict[str, str]:
    """Read conf/roles.yml: goal of a refund -> goal of the order it takes back."""
    tracks = yaml.safe_load((conf / "roles.yml").read_text())["tracks"]
    return {goal: rule["refunds"] for goal, rule in tracks.items() if "refunds" in rule}
