"""VACUUM of a table without Spark."""

from pathlib import Path

from deltalake import DeltaTable


def vacuum(folder: Path) -> int:
    """Remove files that no version within the table's retention refers to. Makes no commit.

    deltalake lists them, including files that a writer left without a commit. Its own VACUUM would add two
    commits to the log, and leave Hadoop's checksum files.

    Args:
        folder: of the table.

    Returns:
        The number of files removed.
    """
    unused = DeltaTable(folder).vacuum(dry_run=True, full=True)
    for path in unused:
        file = folder / path
        file.unlink(missing_ok=True)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return len(unused)
