"""A lost or incomplete checkpoint loses and duplicates no row."""

import shutil
from collections.abc import Callable
from pathlib import Path

from kit.home import Home


def lose_all(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint)


def lose_offsets(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint / "offsets")


def lose_commits(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint / "commits")


def lose_latest_offsets(checkpoint: Path) -> None:
    batches = (path for path in checkpoint.glob("offsets/*") if path.name.isdigit())
    latest = max(batches, key=lambda path: int(path.name))
    latest.unlink()
    latest.with_name(f".{latest.name}.crc").unlink(missing_ok=True)


def lose_metadata(checkpoint: Path) -> None:
    (checkpoint / "metadata").write_text("")


def stored(home: Home) -> list[list[str]]:
    """Number of records of the topic, and of their coordinates."""
    counts = 'count(*), count(DISTINCT (topic, partition, "offset"))'
    return home.sql(f"SELECT {counts} FROM bronze.kafka_records WHERE topic = '{home.topic}'")


def test_lost_parts_of_checkpoint_lose_and_duplicate_no_record(new_home: Callable[..., Home]) -> None:
    home = new_home(MILLRACE_MAX_BATCH_ROWS="400")
    losses = (lose_all, lose_offsets, lose_commits, lose_latest_offsets, lose_metadata)
    sent = 0
    for seed, lose in enumerate((None, *losses)):
        if lose is not None:
            lose(home.path / "checkpoints" / "ingest")
        home.must("produce", "--events", "1000", "--seed", str(seed))
        sent += 1000
        home.must("run", "ingest", "--once")
        home.must("audit")
        assert stored(home) == [[str(sent), str(sent)]], lose
    home.must("run", "refine", "--once")
    home.must("audit")
