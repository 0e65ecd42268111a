"""The page's view of collectors: from the logs of the nodes."""

from pathlib import Path

import collectors
import polars as pl

from intake.log.entries import Delivered, Tally, Write
from intake.log.message_log import MessageLog
from intake.log.place import log_file
from intake.segment_requests import Message
from lakehouse.timestamps import from_micros

MESSAGE = Message(b"k", b"{}")


def test_sources_of_all_nodes_with_what_waits(tmp_path: Path) -> None:
    assert collectors.by_source(tmp_path).is_empty()
    first, second = (MessageLog(log_file(tmp_path, node)) for node in ("main", "b"))
    first.append(Write("1", "shop", [MESSAGE] * 3)).result()
    first.append(Write("2", "shop", [MESSAGE], is_shed=True)).result()
    first.count("shop", Tally(refused=5))
    oldest, *_ = first.pending(0, 3)
    first.forget(oldest.sequence, [Delivered("1", "shop", 0, 0, oldest.logged_at)])
    second.append(Write("3", "app", [MESSAGE])).result()
    for log in (first, second):
        log.close()
    found = collectors.by_source(tmp_path)
    assert found.select(pl.exclude("oldest")).rows() == [
        ("main", "shop", 3, 4, 2, 1, 5),
        ("b", "app", 1, 1, 1, 0, 0),
    ]
    assert found["oldest"][0] == from_micros(oldest.logged_at)


def test_a_log_that_is_no_database_is_left_out(tmp_path: Path) -> None:
    file = log_file(tmp_path, "main")
    file.parent.mkdir()
    file.write_bytes(b"x" * 100)
    assert collectors.by_source(tmp_path).is_empty()
