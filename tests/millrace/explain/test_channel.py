"""`millrace explain channel`: the rule that decides, and why, without Spark or Java."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folds.records.channels import Visit
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.cli import app, register_commands
from millrace.explain.channel import explain_channel

SHOP = "https://shop.example/"
CONF = load_settings().conf
RULES = (CONF / "channels.yml").read_text(encoding="utf-8").splitlines()


def run(*arguments: str) -> str:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ["explain", "channel", *arguments])
    if answer.exception:
        raise answer.exception
    return answer.stdout


def explain_as_json(*arguments: str) -> dict[str, object]:
    reported: dict[str, object] = json.loads(run(*arguments, "--json"))
    return reported


@pytest.mark.parametrize(
    ("visit", "channel", "because"),
    [
        (
            Visit(url=SHOP + "?a=1&msclkid=x", source="mail"),
            "Paid Search",
            ["the address has the click id msclkid"],
        ),
        (
            Visit(url=SHOP, source=" Bing ", medium="CPC"),
            "Paid Search",
            [
                "the source, bing, is of the sites called search",
                "the medium, cpc, matches .*cp.*|ppc|retargeting|paid.*",
            ],
        ),
        (
            Visit(source="newsletter"),
            "Email",
            ["the source, newsletter, matches e-?mail|e_mail|e mail|newsletter"],
        ),
        (Visit(medium="affiliate"), "Affiliates", ["the medium, affiliate, matches affiliates?"]),
        (
            Visit(source="x.example", name="Spring"),
            "Referral",
            ["it has campaign fields: source x.example, campaign Spring"],
        ),
        (
            Visit(url=SHOP, referrer="https://www.google.de/"),
            "Organic Search",
            ["the referrer's host, google.de, is of the sites called search"],
        ),
        (
            Visit(url=SHOP, referrer="https://blog.example/"),
            "Referral",
            ["the referrer's host, blog.example, is not of the page's site, shop.example"],
        ),
        (Visit(referrer=SHOP), "Referral", ["the referrer's host, shop.example, is not of the page's site"]),
        (
            Visit(url=SHOP, referrer=SHOP + "cart"),
            "Direct",
            ["none of the 26 rules holds: no campaign field, and no referrer from another site"],
        ),
    ],
)
def test_reason_names_field_of_visit_that_matches_the_rule(
    visit: Visit, channel: str, because: list[str]
) -> None:
    reason = explain_channel(CONF, visit)
    assert (reason.channel, list(reason.because)) == (channel, because)


@pytest.mark.parametrize(
    ("referrer", "channel", "because"),
    [
        ("https://x.com/i/grok", "AI Assistant", "the sites called ai, as x.com/i/grok"),
        ("https://webmail.club.example/", "Email", "the sites called email, as webmail.*"),
        ("https://docs.google.com/", "Referral", "docs.google.com, is not of the page's site"),
        ("https://www.paypal.com/", "Direct", "counts as none: conf/channels.yml excludes paypal.com"),
    ],
)
def test_reason_names_referrer_entry_that_matches_the_host(referrer: str, channel: str, because: str) -> None:
    reason = explain_channel(CONF, Visit(url=SHOP, referrer=referrer))
    assert reason.channel == channel
    assert because in reason.because[0]


def test_reported_line_is_that_of_the_deciding_rule() -> None:
    for visit in (Visit(source="google", medium="cpc"), Visit(referrer=SHOP), Visit()):
        reason = explain_channel(CONF, visit)
        assert RULES[reason.line - 1].strip().removeprefix("- ") == reason.rule
        assert reason.channel in reason.rule


def test_campaign_fields_are_read_from_url_unless_given() -> None:
    url = SHOP + "?utm_source=google&utm_medium=cpc&utm_campaign=spring"
    found = explain_as_json(url, "https://www.bing.com/")
    assert found["channel"] == "Paid Search"
    assert found["looked_at"] == {
        "source": "google",
        "medium": "cpc",
        "campaign": "spring",
        "page_host": "shop.example",
        "referrer_host": "bing.com",
    }
    assert explain_as_json(url, "--medium", "email")["channel"] == "Email"
    assert (
        explain_as_json(url, "--source", "someone", "--medium", "banner", "--campaign", "x")["channel"]
        == "Display"
    )


def test_text_output_has_channel_rule_and_examined_fields() -> None:
    shown = run(SHOP, "https://www.shop.example:8443/cart")
    assert shown.splitlines()[0] == "Direct"
    assert "by conf/channels.yml, line " in shown
    assert "referrer host: shop.example (the page's own)" in shown


@pytest.mark.parametrize(
    ("arguments", "channel", "line"),
    [
        (
            (SHOP, "https://checkout.shop.example./"),
            "Direct",
            "  referrer host: checkout.shop.example (the page's own)",
        ),
        (
            ("https://sh\u00f6p.example/", "https://xn--shp-tna.example/"),
            "Direct",
            "  page host: xn--shp-tna.example",
        ),
        ((SHOP, "about:blank"), "Direct", "  referrer host: none"),
        (("https://[2001:db8::1]:8080/", "http://[2001:db8::2]/"), "Referral", "  page host: [2001:db8::1]"),
        ((SHOP + "#/a?UTM_Source=News&amp;utm_medium=E-Mail",), "Email", "  medium: e-mail"),
    ],
)
def test_notations_of_addresses_are_explained(arguments: tuple[str, ...], channel: str, line: str) -> None:
    shown = run(*arguments).splitlines()
    assert shown[0] == channel
    assert line in shown


def test_unmatched_visit_gets_default_channel_with_reason(tmp_path: Path) -> None:
    (tmp_path / "channels.yml").write_text(
        "sites: {}\nrules:\n  - {channel: Email, medium: email}\notherwise: Direct\n"
    )
    reason = explain_channel(tmp_path, Visit(source="x", referrer="https://blog.example/"))
    assert (reason.channel, reason.line) == ("Direct", 4)
    (because,) = reason.because
    assert because.startswith(
        "none of the 1 rules holds: campaign fields that none knows, and a referrer's host"
    )


@pytest.mark.parametrize("addresses", [("notaurl",), ("/product/1",), (SHOP, "nowhere")])
def test_invalid_url_is_rejected(addresses: tuple[str, ...]) -> None:
    with pytest.raises(MillraceError, match=f"no address of a page: {addresses[-1]}"):
        run(*addresses)
