"""Campaign fields and click ids of a URL."""

import pytest

from folds.records.addresses import read_address
from folds.records.campaigns import CLICK_IDS, PARAMETERS, read_parameters
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
        (SHOP + "?utm_source=&utm_source=second", {"source": "second"}),
        (SHOP + "?utm_source=%20&UTM_SOURCE=second&utm_source=third", {"source": "second"}),
        (SHOP + "?utm_source=+%20%09&utm_medium=+x%C2%A0", {"medium": "x"}),
        (
            SHOP + "?Utm_Source=News&UTM_MEDIUM=E-Mail&utm%5Fid=7",
            {"source": "News", "medium": "E-Mail", "id": "7"},
        ),
        (SHOP + "?utm_source=a&amp;utm_medium=b&AMP;utm_id=c", {"source": "a", "medium": "b", "id": "c"}),
        (SHOP + "?x=1;utm_source=a;utm_medium=b", {}),
        (
            SHOP + "?utm_campaign=caf%C3%A9&utm_term=caf%E9+x&utm_id=caf\u00e9",
            {"name": "caf\u00e9", "term": "caf%E9+x", "id": "caf\u00e9"},
        ),
        (SHOP + "?utm_campaign=50%25%20off&utm_term=%2520", {"name": "50% off", "term": "%20"}),
        (SHOP + "?utm_campaign=50%+off", {"name": "50% off"}),
        (SHOP + "?utm_source=a%26utm_medium=b", {"source": "a&utm_medium=b"}),
        (SHOP + "?utm_source=<script>alert(1)</script>", {"source": "<script>alert(1)</script>"}),
        (SHOP + "?utm_source=\ud800%20", {"source": "\ud800%20"}),
        (SHOP + "?utm_source=half%2", {"source": "half%2"}),
        (SHOP + "?utm_source=x#utm_medium=y&utm_source=z", {"source": "x", "medium": "y"}),
        (SHOP + "?utm_source=#utm_source=x", {"source": "x"}),
        (SHOP + "#utm_source=x?&utm_medium=y", {"source": "x?", "medium": "y"}),
        (SHOP + "#?utm_source=x", {"source": "x"}),
        (SHOP + "#/path?utm_source=x", {"source": "x"}),
        (SHOP + "#!/path;a=b?utm_source=x&amp;UTM_MEDIUM=y", {"source": "x", "medium": "y"}),
        (SHOP + "#top&utm_source=x", {"source": "x"}),
        (SHOP + "#top", {}),
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
        (SHOP + "?GCLID=AbC", ("AbC", "gclid")),
        (SHOP + "?Li_Fat_Id=1&FBCLID=2", ("1", "li_fat_id")),
        (SHOP + "?a=b&amp;msclkid=+1", ("1", "msclkid")),
        (SHOP + "#/path?gclid=1", ("1", "gclid")),
        (SHOP + "?fbclid=1#gclid=2", ("2", "gclid")),
        (SHOP + "?gclid=&gclid=2", ("2", "gclid")),
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


@pytest.mark.parametrize("name", [*PARAMETERS.values(), *CLICK_IDS])
@pytest.mark.parametrize("place", ["?{}=x", "?a=b&amp;{}=x", "#{}=x", "#/path?{}=x"])
def test_each_parameter_is_read_in_any_case(name: str, place: str) -> None:
    for form in (name, name.upper(), name.title()):
        assert dict(read_parameters(SHOP + place.format(form))) == {name: "x"}


def test_blank_campaign_field_falls_back_to_url() -> None:
    sent = {"source": " mail\u00a0", "term": "", "content": " ", "id": 7}
    url = SHOP + "?utm_medium=email&utm_term=a&utm_content=b&utm_id=c&msclkid=d"
    (row,) = parse([record(message("e", "v", "page", context={"campaign": sent, "page": {"url": url}}))])
    fields = ("source", "medium", "name", "term", "content", "id")
    assert [row[f"campaign_{field}"] for field in fields] == ["mail", "email", None, "a", "b", "7"]
    assert (row["click_id"], row["click_id_kind"], row["channel"]) == ("d", "msclkid", "Paid Search")


@pytest.mark.parametrize(
    ("query", "channel", "source", "medium"),
    [
        ("?utm_source=News&utm_medium=E-Mail", "Email", "News", "E-Mail"),
        ("?utm_source=news&utm_medium=e_mail", "Email", "news", "e_mail"),
        ("?utm_source=news&utm_medium=e+Mail", "Email", "news", "e Mail"),
        ("?UTM_SOURCE=news&UTM_MEDIUM=email", "Email", "news", "email"),
        ("?utm_source=&utm_source=news&utm_medium=email", "Email", "news", "email"),
        ("#utm_source=news&utm_medium=email", "Email", "news", "email"),
        ("?utm_source=news&amp;utm_medium=email&amp;utm_campaign=x", "Email", "news", "email"),
        ("?x=1;utm_source=news;utm_medium=email", "Direct", None, None),
        ("?utm_source=%20&utm_medium=email", "Email", None, "email"),
        ("?utm_source=<script>&utm_medium=email", "Email", "<script>", "email"),
        ("?utm_source=GOOGLE&utm_medium=CPC%20", "Paid Search", "GOOGLE", "CPC"),
        ("?utm_source=www.Google.com.&utm_medium=referral", "Organic Search", "www.Google.com.", "referral"),
        ("?GCLID=x", "Paid Search", None, None),
    ],
)
def test_campaign_notation_reaches_its_channel(
    query: str, channel: str, source: str | None, medium: str | None
) -> None:
    (row,) = parse([record(message("e", "v", "page", context={"page": {"url": SHOP + query}}))])
    found = (row["channel"], row["campaign_source"], row["campaign_medium"])
    assert found == (channel, source, medium)
