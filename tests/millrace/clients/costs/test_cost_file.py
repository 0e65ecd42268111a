"""Cost files as Google, Meta and Microsoft export them, and files in other shapes."""

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from folds.costs.cost_rules import CostRules, load_cost_rules
from folds.records.outcomes import CampaignCost
from kit.oracle_costs import COSTS_TOPIC
from kit.parser import CONF, outcome_of
from kit.records import Record
from lakehouse.errors import MillraceError
from millrace.clients.costs.cost_file import CostFile, read_cost_file
from millrace.clients.costs.cost_messages import cost_records

RULES = load_cost_rules(CONF)
GOOGLE = """Campaign report
"March 1, 2026 - March 2, 2026"
Day,Campaign,Ad group,Currency code,Cost,Clicks,Impr.
2026-03-01,brand,A,USD,"1,234.50",12,"10,001"
2026-03-01,brand,B,USD,0.50, --,0
"Mar 2, 2026",Total wines,A,USD,--,0,3
Total: Campaigns, --, --,USD,"1,235.00",12,"10,004"
Total: Account, --, --,USD,"1,235.00",12,"10,004"
"""
META = """\
Campaign name,Ad set name,Day,Amount spent (GBP),Link clicks,Impressions,Reporting starts,Reporting ends
,,,55.10,3,400,2026-03-01,2026-03-01
lamp-week,adults,2026-03-01,55.1,3,400,2026-03-01,2026-03-01
"""
MICROSOFT = """"Report Name: Campaign Performance"
"Report Time: 3/1/2026,3/2/2026"
"Time Zone: (GMT+01:00) Berlin"

"Gregorian date","Account number","Campaign name","Currency code","Impressions","Clicks","Spend"
"3/1/2026","B018","brand","EUR","1,000","10","1,020.50"

"©2026 Microsoft Corporation. All rights reserved. "
"""


def read(text: str, rules: CostRules = RULES, account: str | None = None) -> CostFile:
    return read_cost_file([line.encode() for line in text.splitlines()], rules, "costs.csv", account)


def shown(file: CostFile) -> list[tuple[Any, ...]]:
    return [
        (row.account, row.day.day, row.campaign_source, row.campaign_name, row.cost, row.currency, row.clicks)
        for row in file.rows
    ]


def test_google_ads_export_has_title_totals_and_thousands() -> None:
    file = read(GOOGLE)
    assert (file.platform, file.left_out) == ("google-ads", 2)
    assert shown(file) == [
        ("default", 1, "google", "brand", Decimal("1234.50"), "USD", 12),
        ("default", 1, "google", "brand", Decimal("0.50"), "USD", None),
        ("default", 2, "google", "Total wines", Decimal(0), "USD", 0),
    ]
    assert [row.impressions for row in file.rows] == [10_001, 0, 3]


def test_meta_export_has_currency_in_header_and_summary_row() -> None:
    file = read(META, account="uk")
    assert (file.platform, file.left_out) == ("meta-ads", 1)
    assert shown(file) == [("uk", 1, "facebook", "lamp-week", Decimal("55.1"), "GBP", 3)]


def test_microsoft_export_has_report_lines_and_footer() -> None:
    file = read(MICROSOFT)
    assert (file.platform, file.left_out) == ("microsoft-ads", 1)
    assert shown(file) == [("B018", 1, "bing", "brand", Decimal("1020.50"), "EUR", 10)]


def test_other_notation_and_columns_are_data() -> None:
    columns = {
        "day": ["Tag"],
        "campaign": ["Kampagne"],
        "source": ["Quelle"],
        "cost": ["Kosten ({currency})"],
    }
    platform = {"columns": columns, "decimal_point": ",", "day_formats": ["%d.%m.%Y"], "totals": ["Summe"]}
    rules = CostRules.model_validate({"platforms": {"de": platform}})
    file = read(
        "Tag;Kampagne;Quelle;Kosten (eur)\n01.03.2026;Lampen;heise;1.234,56 €\nSumme;;;1.234,56 €\n", rules
    )
    assert shown(file) == [("default", 1, "heise", "Lampen", Decimal("1234.56"), "EUR", None)]


@pytest.mark.parametrize(
    ("text", "problem", "advice"),
    [
        (
            "a,b\n1,2\n",
            "no header of a cost file is among the first 30 lines of costs.csv",
            "google-ads, meta-ads",
        ),
        (
            "Day,Campaign,Clicks\n",
            "line 1 of costs.csv looks like the header of google-ads, and lacks cost",
            "add",
        ),
        (
            "Day,Campaign,Cost\n",
            "costs.csv has the header of google-ads, and no costs",
            "a period with costs",
        ),
        (
            GOOGLE.replace('"1,234.50"', '"1.234,50"'),
            "line 4 of costs.csv.*'1.234,50' for a cost",
            "decimal_point",
        ),
        (GOOGLE.replace("2026-03-01", "Week 9"), "line 4 of costs.csv.*'Week 9' for a day", "day_formats"),
        (
            META.replace("01,2026-03-01", "01,2026-03-31"),
            "line 3.*is of 2026-03-01 to 2026-03-31",
            "each day",
        ),
        (GOOGLE.replace("Currency code", "Type"), "line 4.*names no currency", "defaults"),
        (GOOGLE.replace("USD", "US Dollar"), "line 4.*'US Dollar' for a currency", "ISO 4217"),
        (GOOGLE.replace(",B,USD", ",USD"), "line 5.*has 6 cells, the header 7", "as CSV"),
    ],
)
def test_strange_shape_is_one_line_with_what_to_do(text: str, problem: str, advice: str) -> None:
    with pytest.raises(MillraceError, match=problem) as reported:
        read(text)
    assert advice in str(reported.value)
    assert "\n" not in str(reported.value)


def test_file_that_is_not_utf_8_says_how_to_convert_it() -> None:
    with pytest.raises(MillraceError, match=r"line 2 of costs.csv is not UTF-8.*iconv"):
        read_cost_file([b"Day,Campaign,Cost", b"2026-03-01,caf\xe9,1"], RULES, "costs.csv", None)


def test_records_are_accepted_by_silver_and_numbered_by_day() -> None:
    file = read(GOOGLE)
    sent = list(cost_records(file, datetime(2026, 3, 3, tzinfo=timezone.utc)))
    found = [outcome_of(Record(each.value, topic=COSTS_TOPIC)) for each in sent]
    assert all(isinstance(each, CampaignCost) for each in found)
    costs = [each for each in found if isinstance(each, CampaignCost)]
    assert [(each.day, each.load_row, each.load_rows, each.cost) for each in costs] == [
        (date(2026, 3, 1), 1, 2, Decimal("1234.50")),
        (date(2026, 3, 1), 2, 2, Decimal("0.50")),
        (date(2026, 3, 2), 1, 1, Decimal(0)),
    ]
    assert {each.load_id for each in costs} == {file.load_id}
    assert sent[0].key == sent[1].key != sent[2].key


def test_rules_file_that_is_not_valid_is_named(tmp_path: Path) -> None:
    (tmp_path / "costs.yml").write_text("platforms: {x: {columns: {day: [Day]}}}\n")
    with pytest.raises(MillraceError, match=r"costs\.yml is not valid"):
        load_cost_rules(tmp_path)
    assert load_cost_rules(tmp_path / "none") == CostRules()
