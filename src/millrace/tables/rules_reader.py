"""Reads which rules the rows of a home were made by."""

import polars as pl

from lakehouse.contracts.ops import RULE_USES, RULES
from lakehouse.run.rules_used import Rebuild, RulesUsed, Use
from lakehouse.settings import Settings
from millrace.tables.table_reader import scan


def read_rules_used(settings: Settings) -> RulesUsed:
    """The versions that jobs have followed, and the rebuilds."""
    files, later = scan(settings, RULES.name), scan(settings, RULE_USES.name)
    if files is None:
        return RulesUsed({})
    texts: dict[str, dict[str, str]] = {}
    uses: dict[str, Use] = {}
    for version, file, text, at in files.select(RULES.column_names).sort("first_seen_at").collect().rows():
        texts.setdefault(version, {})[file] = text
        uses.setdefault(version, Use(version, at))
    if later is None:
        return RulesUsed(texts, tuple(uses.values()))
    by_jobs = pl.col("table").is_null()
    ordered = later.sort("used_at").collect()
    again = ordered.filter(by_jobs).select("rules_version", "used_at").iter_rows()
    rebuilds = ordered.filter(~by_jobs).select("table", "rules_version", "after", "used_at").iter_rows()
    every = sorted((*uses.values(), *(Use(*row) for row in again)), key=lambda use: use.since)
    return RulesUsed(texts, tuple(every), tuple(Rebuild(*row) for row in rebuilds))
