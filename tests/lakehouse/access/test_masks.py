"""Column masks: keyed hashes, nulls and the key file."""

import hashlib
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.access import hash_of
from lakehouse.access import mask_key
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.masks import Mask, masked
from lakehouse.errors import MillraceError


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@given(
    st.lists(st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=4), max_size=5), max_size=3)
)
def test_hash_is_hmac_with_key_of_home(home: Path, chunks: list[list[str | None]]) -> None:
    values = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())
    found = masked(values, Mask.HASH, MaskKey(home)).to_pylist()
    expected = [None if each is None else hash_of(home, each) for chunk in chunks for each in chunk]
    assert found == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_equal_values_have_equal_hashes(kind: pa.DataType, tmp_path: Path) -> None:
    values = pa.chunked_array([pa.array(["a", "b"], kind), pa.array(["a"], kind)])
    first, other, again = masked(values, Mask.HASH, MaskKey(tmp_path)).to_pylist()
    assert first == again != other
    assert len(first) == 32
    assert masked(values, Mask.HASH, MaskKey(tmp_path)).type == kind


def test_hash_differs_by_key_and_from_plain_sha256(tmp_path: Path) -> None:
    values = pa.chunked_array([["ann@example.com"]])
    (found,) = masked(values, Mask.HASH, MaskKey(tmp_path)).to_pylist()
    (elsewhere,) = masked(values, Mask.HASH, MaskKey(tmp_path / "other")).to_pylist()
    assert found not in (elsewhere, hashlib.sha256(b"ann@example.com").hexdigest()[:32])


def test_null_mask_keeps_column_type_and_creates_no_key(tmp_path: Path) -> None:
    found = masked(pa.chunked_array([[1, 2], [3]]), Mask.NULL, MaskKey(tmp_path))
    assert (found.to_pylist(), found.type) == ([None] * 3, pa.int64())
    assert not (tmp_path / "serving").exists(), "no hash, no key"


def test_key_file_is_readable_by_owner_only(tmp_path: Path) -> None:
    assert len(MaskKey(tmp_path).secret) == 32
    (file,) = (tmp_path / "serving").iterdir()
    assert (file.name, stat.S_IMODE(file.stat().st_mode)) == ("mask.key", 0o600)


def test_concurrent_readers_share_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: MaskKey(tmp_path).secret, range(32)))
    assert len(keys) == 1


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, "é"])
def test_invalid_key_file_is_rejected(text: str, tmp_path: Path) -> None:
    (tmp_path / "serving").mkdir()
    (tmp_path / "serving" / "mask.key").write_text(text)
    with pytest.raises(MillraceError, match=r"mask\.key is not 32 bytes") as error:
        _ = MaskKey(tmp_path).secret
    assert not text or f"{text}'" not in str(error.value)


def test_key_of_an_app_is_a_secret_of_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_KEY_SECRET_SCOPE", "shop-keys")
    with pytest.raises(MillraceError, match="shop-keys can't be read: this is no workspace"):
        _ = MaskKey(tmp_path).secret
    monkeypatch.setattr(
        mask_key, "read_secret", lambda scope, key, _: {("shop-keys", "mask.key"): "ab" * 32}[scope, key]
    )
    assert MaskKey(tmp_path).secret == bytes.fromhex("ab" * 32)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(mask_key, "read_secret", lambda *_: "short")
    with pytest.raises(MillraceError, match=r"mask\.key of shop-keys is not 32 bytes.*put-secret"):
        _ = MaskKey(tmp_path).secret
