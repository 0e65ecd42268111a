"""The sources that the documentation declares."""

import re

from kit.home import ROOT


def documented_sources(name: str) -> list[str]:
    """The YAML blocks of a page of docs/, in order.

    Args:
        name: of the page, without `.md`.
    """
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    return re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
