"""Campaign fields of an address: which count, and how they are read."""

import pytest

from folds.records.campaigns import campaign_of

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
    ],
)
def test_campaign_of_an_address(address: str, fields: dict[str, str]) -> None:
    assert campaign_of(address) == fields
