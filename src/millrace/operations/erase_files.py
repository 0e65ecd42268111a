"""Erases persons from what is not in tables: the collectors' logs, logs and reports."""

from collections.abc import Iterator, Sequence

from folds.records.placeholders import load_placeholders
from intake.log.erase_messages import erase_messages
from intake.log.place import log_files
from lakehouse.settings import Settings
from privacy.erasure.home_files import erase_from_files
from privacy.own_records import OwnRecords


def erase_files(settings: Settings, texts: Sequence[str]) -> Iterator[str]:
    """Erase persons from the collectors' logs, logs and reports. Idempotent.

    Args:
        settings: the settings in force.
        texts: identifiers of the persons alone.

    Yields:
        What was changed, for the log.
    """
    if not texts:
        return
    own = OwnRecords(texts, load_placeholders(settings.conf))
    for node, file in log_files(settings.home).items():
        if count := erase_messages(file, own.to_erase):
            yield f"{count:,} messages of the collector {node} erased"
    if changed := erase_from_files(settings.home, texts):
        yield f"{len(changed):,} files of logs and reports erased or removed"
