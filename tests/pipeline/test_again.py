"""A second run of all jobs on the same input commits nothing."""

from pathlib import Path

from kit.home import JOBS, Home
from kit.tables import versions
from lakehouse.contracts import TABLES, shop
from lakehouse.contracts.channel_credit import CHANNEL_CREDIT
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.gold import BOT_REFUNDS
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.ops import ERASED_IDENTITIES, ERASED_RECORDS, GATES, READS, RULE_USES
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.contracts.timeline import VISITOR_TIMELINE


def test_second_run_on_the_same_input_commits_nothing(caught_up_home: Home, tmp_path: Path) -> None:
    home = caught_up_home.copy(tmp_path / "home")
    before = versions(home)
    of_shop = {table.name for table in shop.TABLES}
    joined = {CONVERSION_ITEMS.name, ORDER_COMPARISONS.name, VISITOR_TIMELINE.name}
    of_others = {CHANNEL_CREDIT.name, READS.name} | of_shop | joined
    nothing_erased = {ERASED_RECORDS.name, ERASED_IDENTITIES.name}
    without_rows = {GATES.name, BOT_REFUNDS.name, CONSENTS.name, RULE_USES.name} | nothing_erased
    missing = set(TABLES) - set(before)
    assert missing == of_others | without_rows, "filled by a scheduled job, readers, the shop, or not"
    assert [name for name, (_, rows) in before.items() if not rows] == []
    home.must("run", *JOBS, "--once")
    assert versions(home) == before
