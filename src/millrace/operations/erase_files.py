"""Erases persons from what is not in tables: collectors' logs, pending deliveries, logs and reports."""

from collections.abc import Iterator, Sequence

from folds.records.placeholders import load_placeholders
from intake.log.erase_messages import erase_messages
from intake.log.place import log_files
from lakehouse.settings import Settings
from privacy.erasure.home_files import erase_from_files
from privacy.own_records import OwnRecords
from privacy.search.matching.matcher import Matcher
from serving.webhooks.store import FILE, WebhookStore


def erase_files(settings: Settings, texts: Sequence[str]) -> Iterator[str]:
    """Erase persons from the collectors' logs, pending deliveries, logs and reports. Idempotent.

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
    webhooks, matcher = settings.home / "serve" / FILE, Matcher(texts)

    def is_named(body: bytes) -> bool:
        return any(match.is_whole for match in matcher.find([body]))

    if webhooks.is_file() and (count := WebhookStore(webhooks).erase_pending(is_named)):
        yield f"{count:,} pending deliveries of webhooks dropped"
    if changed := erase_from_files(settings.home, texts):
        yield f"{len(changed):,} files of logs and reports erased or removed"
