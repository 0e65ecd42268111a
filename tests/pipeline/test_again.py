"""A second run of all jobs on the same input commits nothing."""

from pathlib import Path

from kit.home import JOBS, Home
from kit.tables import versions
from lakehouse.contracts import TABLES, shop
from lakehouse.contracts.channel_credit import CHANNEL_CREDIT
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.gold import BOT_REFUNDS
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.ops import ERASED_IDENTITIES, ERASED_RECORDS, GATES, READS
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.contracts.shop import CUSTOMERS, ORDERS, PRODUCTS
from lakehouse.contracts.timeline import VISITOR_TIMELINE


def test_second_run_on_the_same_input_commits_nothing(caught_up_home: Home, tmp_path: Path) -> None:
    home = caught_up_home.copy(tmp_path / "home")
    before = versions(home)
    read = {CUSTOMERS.name, PRODUCTS.name, ORDERS.name}  # by publish
    of_shop = {table.name for table in shop.TABLES} - read
    joined = {CONVERSION_ITEMS.name, ORDER_COMPARISONS.name, VISITOR_TIMELINE.name}
    of_others = {CHANNEL_CREDIT.name, READS.name} | of_shop | joined
    assert set(before) == set(TABLES) - of_others, "which a scheduled job, readers and the shop fill"
    empty = {name for name, (_, rows) in before.items() if not rows}
    nothing_erased = {ERASED_RECORDS.name, ERASED_IDENTITIES.name}
    others = {GATES.name, BOT_REFUNDS.name, CONSENTS.name} | read
    assert empty == nothing_erased | others, "open gate, no bot's refund, no refusal, no database of the shop"
    home.must("run", *JOBS, "--once")
    assert versions(home) == before
