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


class Followed:
    """A sources.yml that is followed, with a clock that each check advances."""

    def __init__(self, folder: Path, text: str) -> None:
        self._folder = folder
        self._now = 0.0
        declared(folder, text)
        self._file = SourcesFile(folder, clock=lambda: self._now)

    def write(self, content: bytes | None) -> None:
        """Replace the file, or remove it."""
        file = self._folder / "sources.yml"
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)

    def check(self) -> list[str]:
        """Names of the sources at the next check."""
        self._now += 1
        return [source.name for source in self._file.current().declared]


def test_changed_sources_are_loaded_after_two_equal_checks(tmp_path: Path) -> None:
    followed = Followed(tmp_path, f"sources: [{{name: shop, key_sha256: {KEY}}}]")
    followed.write(f"sources: [{{name: other, key_sha256: {KEY}}}]".encode())
    assert [followed.check(), followed.check()] == [["shop"], ["other"]]


def test_partly_written_sources_are_not_loaded(tmp_path: Path) -> None:
    text = f"sources:\n- name: shop\n  key_sha256: {KEY}\n  origins: [https://shop.example]\n"
    followed = Followed(tmp_path, f"sources: [{{name: before, key_sha256: {KEY}}}]")
    for size in range(len(text)):
        followed.write(text[:size].encode())
        assert followed.check() == ["before"]


@pytest.mark.parametrize("content", [b"sources: [broken]", b"", b"\xff", b"sources: 5", None])
def test_previous_sources_stay_while_file_is_invalid_empty_or_missing(
    tmp_path: Path, content: bytes | None
) -> None:
    followed = Followed(tmp_path, f"sources: [{{name: shop, key_sha256: {KEY}}}]")
    followed.write(content)
    assert [followed.check(), followed.check(), followed.check()] == [["shop"]] * 3


@pytest.mark.parametrize(
    "entry",
    [
        "{}",
        "{name: a}",
        "{name: a, key_sha256: x}",
        "{name: a, key_sha256: 1}",
        "a",
        f"{{name: a, key_sha256: {KEY}, key: b}}",
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
