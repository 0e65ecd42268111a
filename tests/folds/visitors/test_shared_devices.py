"""Generated stories contain what the rule of persons by stretch distinguishes."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

import pytest

from kit.drawing import draw_examples
from kit.oracle import Oracle
from kit.oracle_identities import persons_of
from kit.oracle_wire import MINUTE, Fields
from kit.person_stories import person_stories
from kit.records import SENT, Stored, record
from kit.scenarios import visits
from kit.visitor_stories import STORIES

GAP = 30 * MINUTE
STORY_COUNT = 600
OF_VISITORS: dict[str, Callable[[list[Fields]], bool]] = {
    "several persons": lambda mine: len(set(persons_of(mine).values())) > 1,
    "an anonymous event before the first login": lambda mine: (
        not mine[0]["user_id"] and any(each["user_id"] for each in mine)
    ),
    "two logins of a stretch, with an anonymous event between": lambda mine: any(
        one["user_id"] and not between["user_id"] and other["user_id"] not in (None, one["user_id"])
        for one, between, other in triples(mine)
        if max(gaps([one, between, other])) < GAP
    ),
    "a stretch without a login between two": lambda mine: any(
        one["user_id"] and not between["user_id"] and other["user_id"]
        for one, between, other in triples(mine)
        if min(gaps([one, between, other])) >= GAP
    ),
    "an identify event that alone bridges a gap": lambda mine: any(
        between["type"] == "identify" and other["event_time"] - one["event_time"] >= GAP
        for one, between, other in triples(mine)
        if max(gaps([one, between, other])) < GAP
    ),
    "a gap of 30 minutes before a login": lambda mine: any(
        other["user_id"] and gaps([one, other]) == [GAP] for one, other in pairwise(mine)
    ),
    "just no gap before a login": lambda mine: any(
        other["user_id"] and gaps([one, other]) == [GAP - 1] for one, other in pairwise(mine)
    ),
    "a login at the time of an event with a smaller UID": lambda mine: any(
        other["user_id"] not in (None, one["user_id"]) and gaps([one, other]) == [0]
        for one, other in pairwise(mine)
    ),
    "a login at the time of an event with a larger UID": lambda mine: any(
        one["user_id"] not in (None, other["user_id"]) and gaps([one, other]) == [0]
        for one, other in pairwise(mine)
    ),
    "an event of a server beside those of a browser": lambda mine: (
        {each["is_server_event"] for each in mine} == {True, False}
    ),
}
OF_STORIES: dict[str, Callable[[list[Fields]], bool]] = {
    "a person with two visitors": lambda events: any(
        one["user_id"] and one["user_id"] == other["user_id"] and one["visitor_id"] != other["visitor_id"]
        for one, other in combinations(events, 2)
    ),
    "a user with the id of another visitor": lambda events: any(
        one["user_id"] == other["visitor_id"] != one["visitor_id"] for one, other in combinations(events, 2)
    ),
    "users on events of all types": lambda events: (
        {each["type"] for each in events if each["user_id"]} >= {"page", "track", "identify"}
    ),
}


def triples(events: list[Fields]) -> Iterator[tuple[Fields, ...]]:
    """Each three events that follow each other."""
    return zip(events, events[1:], events[2:], strict=False)


def gaps(events: list[Fields]) -> list[int]:
    return [after["event_time"] - before["event_time"] for before, after in pairwise(events)]


def stories_of_visitors() -> list[list[Fields]]:
    return [story.events for story in draw_examples(STORIES, STORY_COUNT, 1)]


def stories_of_persons() -> list[list[Fields]]:
    return [story.gold.events for story in draw_examples(person_stories(), STORY_COUNT, 1)]


def stories_of_messages() -> list[list[Fields]]:
    drawn = draw_examples(visits(), STORY_COUNT, 1)
    return [
        Oracle.over(Stored(record(body), offset, SENT) for offset, (body, _) in enumerate(story)).events
        for story in drawn
    ]


@pytest.mark.parametrize(
    "stories",
    [
        stories_of_visitors,
        pytest.param(stories_of_persons, marks=pytest.mark.long),
        pytest.param(stories_of_messages, marks=pytest.mark.long),
    ],
)
def test_generated_stories_contain_shared_devices(stories: Callable[[], list[list[Fields]]]) -> None:
    found = set()
    for events in stories():
        by_visitor = defaultdict(list)
        for each in sorted(events, key=lambda each: (each["event_time"], each["event_id"])):
            by_visitor[each["visitor_id"]].append(each)
        found |= {name for mine in by_visitor.values() for name, has in OF_VISITORS.items() if has(mine)}
        found |= {name for name, has in OF_STORIES.items() if has(events)}
    assert found == OF_VISITORS.keys() | OF_STORIES.keys()


@pytest.mark.long
def test_generated_person_stories_contain_impressions_seen_by_another_person() -> None:
    golds = [story.gold for story in draw_examples(person_stories(), STORY_COUNT, 5)]
    assert any(
        touch["view"] and gold.persons[touch["view"]["event_id"]] != gold.persons[touch["event_id"]]
        for gold in golds
        for touch in gold.touches
    )
