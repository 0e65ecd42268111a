"""Campaign fields and click ids of a URL."""

import pytest

from folds.records.addresses import read_address
from folds.records.campaigns import PARAMETERS
from kit.parser import parse
from kit.records import message, record

SHOP = "https://shop.example/"


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("", {}),
        (SHOP, {}),
        (SHOP + "?a=b&utm_source=google&utm_medium=cpc", {"source": "google", "medium": "cpc"}),
        (SHOP + "?utm_campaign=spring+sale%21", {"name": "spring sale!"}),
        (SHOP + "?utm_source=first&utm_source=second", {"source": "first"}),
        (SHOP + "?utm_source=&utm_source=second", {}),
        (SHOP + "?utm_source=+%20%09&utm_medium=+x", {"medium": " x"}),
        (SHOP + "?utm_source=half%2", {"source": "half%2"}),
        (SHOP + "?utm_source=x#utm_medium=y", {"source": "x"}),
        (SHOP + "#?utm_source=x", {}),
        (SHOP + "?not_utm_source=x", {}),
        (SHOP + "?utm_source=a?utm_medium=b", {"source": "a?utm_medium=b"}),
        (SHOP + "utm_source=x", {}),
        (
            SHOP + "?utm_term=red+shoes&utm_content=top&utm_id=7",
            {"term": "red shoes", "content": "top", "id": "7"},
        ),
    ],
)
def test_campaign_fields_are_read_from_url(address: str, fields: dict[str, str]) -> None:
    read = read_address(address).campaign
    assert {
        field: value for field, value in zip(PARAMETERS, read, strict=True) if value is not None
    } == fields


@pytest.mark.parametrize(
    ("address", "click_id"),
    [
        (None, (None, None)),
        (SHOP, (None, None)),
        (SHOP + "?gclid=", (None, None)),
        (SHOP + "?gclid=+", (None, None)),
        (SHOP + "?xgclid=1", (None, None)),
        (SHOP + "?GCLID=1", (None, None)),
        (SHOP + "#?gclid=1", (None, None)),
        (SHOP + "?a=b&gclid=Cj%2B0", ("Cj+0", "gclid")),
        (SHOP + "?gclid=1&gclid=2", ("1", "gclid")),
        (SHOP + "?fbclid=1&msclkid=2", ("2", "msclkid")),
        (SHOP + "?wbraid=1&gbraid=2", ("2", "gbraid")),
        (SHOP + "?li_fat_id=1&twclid=2&ttclid=3", ("3", "ttclid")),
        (SHOP + "?gclid=&fbclid=1", ("1", "fbclid")),
    ],
)
def test_click_id_is_read_from_url(address: str | None, click_id: tuple[str | None, str | None]) -> None:
    found = read_address(address)
    assert (found.click_id, found.click_id_kind) == click_id


def test_blank_campaign_field_falls_back_to_url() -> None:
    sent = {"source": "mail", "term": "", "content": " ", "id": 7}
    url = SHOP + "?utm_medium=email&utm_term=a&utm_content=b&utm_id=c&msclkid=d"
    (row,) = parse([record(message("e", "v", "page", context={"campaign": sent, "page": {"url": url}}))])
    fields = ("source", "medium", "name", "term", "content", "id")
    assert [row[f"campaign_{field}"] for field in fields] == ["mail", "email", None, "a", "b", "7"]
    assert (row["click_id"], row["click_id_kind"], row["channel"]) == ("d", "msclkid", "Paid Search")
