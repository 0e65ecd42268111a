"""Compares gold.traffic at every version with its change feed folded up to it."""

from kit.change_folding import assert_feed_folds
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.settings import Settings


def assert_changes_fold(settings: Settings) -> int:
    """Fold the change feed of gold.traffic, and compare each version with the result so far.

    Returns:
        Number of versions that changed rows.
    """
    folder = settings.warehouse / TRAFFIC.layer / TRAFFIC.short_name
    changes = assert_feed_folds(folder, TRAFFIC, begins=[0])
    return len(set(changes["commit_version"].to_pylist()))
