"""conf/sources.yml declares who may send to the collector."""

from hashlib import sha256
from pathlib import Path

import pytest

from intake.sources import LOCAL, Acknowledge, Sources, load_sources
from intake.sources_file import SourcesFile
from lakehouse.errors import MillraceError
from lakehouse.run.rules_version import rules_version
from lakehouse.settings import load_settings

KEY = sha256(b"secret").hexdigest()


def declared(folder: Path, text: str) -> Sources:
    (folder / "sources.yml").write_text(text)
    return load_sources(folder)


def test_only_localhost_may_send_without_declared_sources(tmp_path: Path) -> None:
    for sources in (load_sources(tmp_path), load_sources(load_settings().conf)):
        assert sources.find("any", True, None) == LOCAL
        assert sources.find(None, True, None) == LOCAL
        assert sources.find("any", False, None) is None


def test_source_is_found_by_write_key_and_allowed_origin(tmp_path: Path) -> None:
    entry = f"{{name: shop, key_sha256: {KEY}, origins: [https://shop.example]}}"
    sources = declared(tmp_path, f"sources: [{entry}]")
    for origin, may in ((None, True), ("https://shop.example", True), ("https://other.example", False)):
        found = sources.find("secret", False, origin)
        assert (found is not None and found.name == "shop") is may
    assert sources.find("wrong", True, None) is None
    assert sources.find(None, True, None) is None


def test_source_accepts_both_keys_during_rotation(tmp_path: Path) -> None:
    other = sha256(b"new").hexdigest()
    sources = declared(tmp_path, f"sources: [{{name: shop, key_sha256: [{KEY}, {other}]}}]")
    assert {sources.find(key, False, None).name for key in ("secret", "new")} == {"shop"}  # type: ignore[union-attr]


def test_changed_sources_are_reloaded_and_broken_files_are_ignored(tmp_path: Path) -> None:
    at = 0.0
    declared(tmp_path, f"sources: [{{name: shop, key_sha256: {KEY}}}]")
    file = SourcesFile(tmp_path, clock=lambda: at)
    (tmp_path / "sources.yml").write_text("sources: [broken]")
    assert file.current().named("shop") is not None
    at = 2.0
    assert file.current().named("shop") is not None
    for content in (b"", b"\xff", b"sources: 5"):
        at += 2
        (tmp_path / "sources.yml").write_bytes(content)
        assert file.current().named("shop") is not None
    (tmp_path / "sources.yml").unlink()
    at += 2
    assert file.current().named("shop") is not None
    (tmp_path / "sources.yml").write_text(f"sources: [{{name: other, key_sha256: {KEY}}}]")
    at += 2
    assert (file.current().named("shop"), file.current().named("other") is not None) == (None, True)


@pytest.mark.parametrize(
    "entry",
    [
        *("{}", "{name: a}", "{name: a, key_sha256: x}", "a", f"{{name: a, key_sha256: {KEY}, key: b}}"),
        f"{{name: a, key_sha256: {KEY}, delivery: at_most_once, acknowledge: kafka}}",
        f"{{name: a, key_sha256: {KEY}, overload: shed, acknowledge: kafka}}",
        f"{{name: a, key_sha256: {KEY}, events_per_second: 0}}",
        f"{{name: 'a b', key_sha256: {KEY}}}",
        f"{{name: a, key_sha256: {KEY}}}, {{name: a, key_sha256: {KEY}}}",
    ],
)
def test_invalid_source_entry_is_rejected(tmp_path: Path, entry: str) -> None:
    with pytest.raises(MillraceError, match=r"conf/sources\.yml"):
        declared(tmp_path, f"sources: [{entry}]")


def test_sources_do_not_affect_rules_version(tmp_path: Path) -> None:
    (tmp_path / "roles.yml").write_text("types: {}")
    before = rules_version(tmp_path)
    declared(tmp_path, "sources: []")
    assert rules_version(tmp_path) == before


def test_local_source_is_acknowledged_as_the_command_says() -> None:
    sources = Sources().acknowledged_by(Acknowledge.KAFKA)
    local = sources.find("any", True, None)
    assert local is not None
    assert (local.acknowledge, sources.named("local")) == (Acknowledge.KAFKA, local)
