"""Files of the collectors' logs in a home."""

import re
from pathlib import Path

from lakehouse.errors import MillraceError

DEFAULT_NODE = "main"
_FOLDER, _FILE = "collect", "messages.db"


def log_file(home: Path, node: str) -> Path:
    """The log of a node. The default node's log has the path of versions with one node only."""
    folder = home / _FOLDER
    return folder / _FILE if node == DEFAULT_NODE else folder / node / _FILE


def log_files(home: Path) -> dict[str, Path]:
    """All logs of a home, by node."""
    folder = home / _FOLDER
    found = {file.parent.name: file for file in sorted(folder.glob(f"*/{_FILE}"))}
    return ({DEFAULT_NODE: folder / _FILE} if (folder / _FILE).is_file() else {}) | found


def require_node(name: str) -> None:
    """Check a node's name.

    Raises:
        MillraceError: if the name is not valid.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise MillraceError(f"{name!r} is no name of a node", "Use letters, digits, `.`, `_` and `-`")
