"""Identifiers are found in streams, in all encodings, exactly once, and nothing else is."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.planted_identifiers import IDENTIFIERS, SPELLINGS, filler
from privacy.search.matching.matcher import Matcher
from privacy.search.matching.neighbours import lengths

SEEDS = st.integers(0, 2**32)
FEWER = settings(max_examples=25)


def chunks(content: bytes, chance: Random) -> list[bytes]:
    """The content in chunks of random sizes, one byte and empty ones among them."""
    found, place = list[bytes](), 0
    while place < len(content):
        size = chance.choice((0, 1, 2, 7, 64, 500, 5000))
        found.append(content[place : place + size])
        place += size
    return found


def found_in(matcher: Matcher, stream: list[bytes]) -> list[str]:
    return [match.encoding for match in matcher.find(stream) if match.is_whole]


@pytest.mark.parametrize("spelling", SPELLINGS)
@FEWER
@given(identifier=IDENTIFIERS, seed=SEEDS)
def test_identifier_is_found_once_wherever_chunks_end(spelling: str, identifier: str, seed: int) -> None:
    chance = Random(seed)
    encoding, spell = SPELLINGS[spelling]
    spelled = spell(identifier, chance)
    content = filler(chance, chance.randrange(3000)) + spelled + filler(chance, chance.randrange(3000))
    found = found_in(Matcher([identifier]), chunks(content, chance))
    is_plain = identifier.encode() in spelled
    assert found == ["text" if is_plain else encoding]


@given(identifiers=st.lists(IDENTIFIERS, min_size=1, max_size=4, unique=True), seed=SEEDS)
def test_all_of_several_identifiers_are_counted(identifiers: list[str], seed: int) -> None:
    chance = Random(seed)
    planted = [chance.choice(identifiers) for _ in range(chance.randrange(20))]
    content = b"".join(
        filler(chance, chance.randrange(1, 1500)) + SPELLINGS[chance.choice(list(SPELLINGS))][1](each, chance)
        for each in planted
    )
    assert len(found_in(Matcher(identifiers), chunks(content + b" ", chance))) == len(planted)


@pytest.mark.parametrize("spelling", SPELLINGS)
@FEWER
@given(identifier=IDENTIFIERS, other=IDENTIFIERS, seed=SEEDS)
def test_other_and_longer_words_are_not_found(spelling: str, identifier: str, other: str, seed: int) -> None:
    chance = Random(seed)
    first = next(each for each in "x9" if ord(each) not in lengths(len(identifier.encode())))
    longer = chance.choice((f"{first}{identifier}", f"{identifier}x", f"{first}{identifier}9"))
    words = [longer if identifier[0].isascii() and identifier[-1].isascii() else "other"]
    words += [other] * (identifier not in other)
    _, spell = SPELLINGS[spelling]
    content = b" ".join(filler(chance, 20) + spell(word, chance) for word in words) + b" "
    assert found_in(Matcher([identifier]), chunks(content, chance)) == []


@given(content=st.binary(max_size=4000), identifier=IDENTIFIERS)
def test_nothing_is_found_in_random_bytes(content: bytes, identifier: str) -> None:
    assert found_in(Matcher([identifier]), [content]) == []


def test_text_that_statistics_cut_is_found() -> None:
    identifier = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
    lower, upper = identifier[:32], identifier[:31] + chr(ord(identifier[31]) + 1)
    for cut in (lower, upper):
        stats = b'{"minValues":{"visitor_id":"' + cut.encode() + b'"}}'
        assert found_in(Matcher([identifier]), [stats]) == ["cut"]
    assert found_in(Matcher([identifier]), [f'"{identifier}"'.encode()]) == ["text"]


@pytest.mark.parametrize("length", [5, 10, 36, 48, 60, 64, 90])
def test_length_in_front_is_no_letter_of_the_identifier(length: int) -> None:
    identifier = "k" * length
    for size in (length, 2 * length, 2 * length + 12, 2 * length + 13):
        if size < 128 and size in lengths(length):
            content = b"abc" + bytes([size]) + identifier.encode() + b"xyz"
            assert found_in(Matcher([identifier]), [content])[:1] == ["text"]


def test_short_identifier_is_found_as_a_word_of_its_own() -> None:
    matcher = Matcher(["42"])
    assert found_in(matcher, [b'{"userId":"42"} uid%3D42&x \\u00342 142 421 NDI= 3432']) == ["text"] * 2 + [
        "json"
    ]
