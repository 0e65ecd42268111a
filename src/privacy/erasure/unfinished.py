"""Erasures that have not ended."""

from pathlib import Path

from privacy.keys import FOLDER

ERASURES, IDENTITIES = "erasures", "identities.json"


def unfinished(home: Path) -> list[str]:
    """Numbers of the requests whose erasure was started and has not ended."""
    return sorted(file.parent.name for file in (home / FOLDER / ERASURES).glob(f"*/{IDENTITIES}"))
