"""Certificates: what they say, and that none verifies once a byte is altered."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random

import pytest

from lakehouse.errors import MillraceError
from privacy.certificates.certificate import describe_search, public_key, sign, verify
from privacy.identities import Identity
from privacy.requests.register import Register
from privacy.search.home_search import SearchResult
from privacy.search.places import Place, Unread

NOW = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
SECRET = bytes(range(32))
KEY = public_key(SECRET)


def certificate(home: Path, result: SearchResult) -> bytes:
    register = Register(home)
    request = register.open([Identity("user", "ann")], "letter 7, ü", NOW, timedelta(days=30))
    body = describe_search(request, result, NOW, NOW, ["ann"], register.head())
    return sign(body, SECRET)


def test_certificate_says_that_nothing_was_found(tmp_path: Path) -> None:
    says = verify(certificate(tmp_path, SearchResult(files=3, size=10)), KEY)
    assert says["result"] == "nothing was found"
    assert says["found"] == says["not_searched"] == []
    assert (says["searched"]["files"], says["searched"]["bytes"]) == (3, 10)
    assert says["searched"]["identifiers_too_short_for_base64_and_hex"] == 1
    assert '"ann"' not in json.dumps(says)


def test_certificate_says_what_was_found_and_not_searched(tmp_path: Path) -> None:
    result = SearchResult(places=[Place("logs/a", "", "text", 3)], unread=[Unread("logs/b", "damaged")])
    says = verify(certificate(tmp_path, result), KEY)
    assert says["result"] == "found 3 times in 1 places; 1 files or identities could not be searched"
    assert says["found"] == [{"file": "logs/a", "part": "", "encoding": "text", "times": 3}]
    assert says["not_searched"] == [{"file": "logs/b", "reason": "damaged"}]


def test_each_altered_byte_is_detected(tmp_path: Path) -> None:
    content = certificate(tmp_path, SearchResult(places=[Place("logs/a", "", "text", 3)]))
    chance = Random(1)
    assert verify(content, KEY)
    for place in range(len(content)):
        other = chance.choice([each for each in range(256) if each != content[place]])
        for altered in (
            content[:place] + bytes([other]) + content[place + 1 :],
            content[:place] + bytes([content[place] ^ 0x20]) + content[place + 1 :],
            content[:place] + content[place + 1 :],
            content[:place] + b" " + content[place:],
        ):
            if altered != content:
                with pytest.raises(MillraceError, match="does not verify"):
                    verify(altered, KEY)


def test_other_keys_do_not_verify(tmp_path: Path) -> None:
    content = certificate(tmp_path, SearchResult())
    forged = sign(json.loads(content)["certificate"], bytes(32))
    for wrong, key in ((content, public_key(bytes(32))), (forged, KEY), (content, "zz"), (content, "")):
        with pytest.raises(MillraceError, match="does not verify"):
            verify(wrong, key)


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[]\n", b"null\n", b"\xff", b'{"certificate": 1}\n'])
def test_other_files_are_no_certificates(content: bytes) -> None:
    with pytest.raises(MillraceError, match="does not verify"):
        verify(content, KEY)
