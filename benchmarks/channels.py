"""Channels of the records and visits of an access log, as a Markdown table."""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from folds.records.addresses import is_named, read_address
from folds.records.channels import Visit
from folds.records.parse_rules import load_parse_rules
from folds.rule_numbers import RuleNumbers
from lakehouse.settings import load_settings
from millrace.clients.access_log import page_event
from millrace.clients.line_reader import SAMPLE_LINES
from millrace.clients.log_site import infer_site
from millrace.clients.logs.log_entry import UnreadableLineError

_GAP, _CONTINUED_WITHIN = RuleNumbers().session_gap, RuleNumbers().continuation_span

_NAMED = 8


class View(NamedTuple):
    """A page event.

    Args:
        visitor: its visitor.
        at: its time.
        uid: its UID.
        channel: that of a session which it starts and which continues no other.
        origin: the referring host, or the campaign.
        comes_back: whether a session that it starts may continue another.
    """

    visitor: str
    at: datetime
    uid: str
    channel: str
    origin: str
    comes_back: bool


def read_views(file: Path) -> Iterator[View]:
    """The events of a log as `millrace load` would send them. Unreadable lines are skipped."""
    lines = file.read_bytes().splitlines()
    site = infer_site(islice(lines, SAMPLE_LINES))
    rules = load_parse_rules(load_settings().conf)
    for number, line in enumerate(lines, start=1):
        with suppress(UnreadableLineError):
            event = json.loads(page_event(line, number, site))
            page = event["context"]["page"]
            visit = Visit.of_addresses(page["url"], page.get("referrer", ""))
            at = datetime.fromisoformat(event["originalTimestamp"].replace("Z", "+00:00"))
            channel = rules.channels.classify(visit)[0]
            address = read_address(page["url"])
            has_origin = is_named(address.campaign) or address.click_id is not None
            comes_back = not has_origin and rules.is_internal(address, page.get("referrer"))
            yield View(event["anonymousId"], at, event["messageId"], channel, _origin(visit), comes_back)


def first_views(views: Iterable[View]) -> Iterator[View]:
    """The first event of each session, with the channel of the session."""
    by_visitor: dict[str, list[View]] = defaultdict(list)
    for view in views:
        by_visitor[view.visitor].append(view)
    for theirs in by_visitor.values():
        theirs.sort(key=lambda view: (view.at, view.uid))
        first = theirs[0]
        yield first
        for before, view in pairwise(theirs):
            pause = view.at - before.at
            if pause >= _GAP:
                continues = view.comes_back and pause <= _CONTINUED_WITHIN
                first = view._replace(channel=first.channel) if continues else view
                yield first


def tabulate(views: list[View]) -> list[str]:
    """One row per channel: records, visits, and the top referring hosts and campaigns."""
    records, visits = (Counter(view.channel for view in each) for each in (views, first_views(views)))
    origins: dict[str, Counter[str]] = defaultdict(Counter)
    for view in views:
        origins[view.channel][view.origin] += 1
    table = ["| channel | records | visits | from, with records |", "| --- | ---: | ---: | --- |"]
    for channel, count in _ranked(records):
        most = [f"{origin} {times:,}" for origin, times in _ranked(origins[channel])]
        more = [f"{len(most) - _NAMED} others"] if len(most) > _NAMED else []
        named = ", ".join(most[:_NAMED] + more)
        table.append(f"| {channel} | {count:,} | {visits[channel]:,} | {named} |")
    return table


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _origin(visit: Visit) -> str:
    if visit.foreign_host is not None:
        return visit.foreign_host
    return f"campaign of {visit.source}" if visit.has_campaign else "nowhere else"


def main() -> None:
    """Print the table of one log."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.channels", description=__doc__)
    parser.add_argument("file", type=Path, help="access log in combined format")
    print("\n".join(tabulate(list(read_views(parser.parse_args().file)))))


if __name__ == "__main__":
    main()
