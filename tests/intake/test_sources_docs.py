"""The source examples in docs/webhooks.md and docs/pull.md are valid."""

from pathlib import Path

import pytest

from intake.required_secrets import require_secrets
from intake.sources import load_sources
from kit.documented_sources import documented_sources
from lakehouse.errors import MillraceError


@pytest.mark.parametrize(("name", "number"), [("webhooks", 6), ("pull", 2)])
def test_documented_source_examples_load_and_require_their_secrets(
    tmp_path: Path, name: str, number: int
) -> None:
    blocks = documented_sources(name)
    assert blocks
    found = []
    for block in blocks:
        (tmp_path / "sources.yml").write_text(block)
        sources = load_sources(tmp_path)
        found += sources.declared
        with pytest.raises(MillraceError, match="is not set"):
            require_secrets(sources, {}, pulls=True)
    assert len(found) == number
    assert {bool(source.webhook) for source in found} == {name == "webhooks"}
