"""Channels: the first matching rule decides, by the fields of a visit."""

import pytest

from folds.records.channels import ChannelRules, Visit, load_channel_rules
from lakehouse.settings import load_settings

SHOP = "https://shop.example/"
CASES = [
    ("Direct", Visit()),
    ("Direct", Visit(url=SHOP, referrer="https://WWW.Shop.Example:8443/cart")),
    ("Direct", Visit(url=SHOP, referrer="not an address")),
    ("Direct", Visit(url=SHOP + "?gclid=")),
    ("Paid Search", Visit(url=SHOP + "?gclid=x")),
    ("Paid Search", Visit(url=SHOP + "?a=b&msclkid=x", source="newsletter", medium="email")),
    ("Direct", Visit(url=SHOP + "?notgclid=x")),
    ("Paid Social", Visit(url=SHOP + "?ttclid=x")),
    ("Paid Search", Visit(source="Google", medium=" CPC ")),
    ("Paid Search", Visit(source="bing", medium="paid-whatever")),
    ("Organic Search", Visit(source="google", medium="organic")),
    ("Organic Search", Visit(source="unheard-of", medium="organic")),
    ("Organic Search", Visit(source="google.co.uk")),
    ("Referral", Visit(source="googleish")),
    ("Paid Social", Visit(source="facebook", medium="ppc")),
    ("Organic Social", Visit(source="facebook")),
    ("Organic Social", Visit(source="someone", medium="social-network")),
    ("Display", Visit(source="someone", medium="banner")),
    ("Email", Visit(medium="e-mail")),
    ("Email", Visit(source="newsletter")),
    ("Affiliates", Visit(source="someone", medium="affiliate")),
    ("Paid Other", Visit(source="someone", medium="cpc")),
    ("Paid Other", Visit(source="chatgpt.com", medium="cpc")),
    ("Paid Other", Visit(source="taboola", medium="paid-native")),
    ("AI Assistant", Visit(source="chatgpt.com")),
    ("AI Assistant", Visit(source="Perplexity", medium="referral")),
    ("AI Assistant", Visit(source="x.com/i/grok")),
    ("AI Assistant", Visit(source="someone", medium="ai-assistant", name="(ai-assistant)")),
    ("Email", Visit(source="mail.google.com")),
    ("Email", Visit(source="gmail", medium="referral")),
    ("Email", Visit(source="google", medium="email")),
    ("Display", Visit(source="taboola", medium="referral")),
    ("Display", Visit(source="ad.doubleclick.net")),
    ("Display", Visit(source="someone", medium="cpm")),
    ("Paid Search", Visit(source="google", medium="cpm")),
    ("Affiliates", Visit(source="awin1.com")),
    ("Referral", Visit(source="paypal.com")),
    ("Referral", Visit(id="7")),
    ("Paid Social", Visit(url=SHOP + "?fbclid=x&twclid=y")),
    ("Paid Search", Visit(url=SHOP + "?ttclid=x&gclid=y")),
    ("Direct", Visit(url=SHOP + "?fbclid=x")),
    ("Organic Social", Visit(url=SHOP + "?fbclid=x", referrer="https://l.facebook.com/")),
    ("Email", Visit(url=SHOP + "?fbclid=x", medium="email")),
    ("Direct", Visit(url=SHOP, referrer="https://checkout.stripe.com/")),
    ("Email", Visit(url=SHOP, medium="email", referrer="https://www.paypal.com/")),
    ("Referral", Visit(name="spring")),
    ("Referral", Visit(name="spring", referrer="https://www.google.com/")),
    ("Organic Search", Visit(url=SHOP, referrer="https://www.google.com/search?q=x")),
    ("Organic Search", Visit(url=SHOP, referrer="https://google.co.uk")),
    ("Organic Search", Visit(url="https://google.com.evil.example/", referrer="https://www.google.de/")),
    ("Referral", Visit(url=SHOP, referrer="https://google.evil.example/")),
    ("Organic Search", Visit(url=SHOP, referrer="https://www.google.com./")),
    ("Direct", Visit(url=SHOP, referrer="https://checkout.shop.example/")),
    ("Direct", Visit(url="https://www.shop.co.uk", referrer="https://pay.shop.co.uk/")),
    ("Referral", Visit(url="https://shop.co.uk", referrer="https://blog.co.uk/")),
    ("Referral", Visit(url="https://ada.github.io", referrer="https://ben.github.io/")),
    ("Direct", Visit(url="https://sh\u00f6p.example/a", referrer="https://xn--shp-tna.example/b")),
    ("Direct", Visit(url=SHOP, referrer="about:blank")),
    ("Referral", Visit(url="https://[2001:db8::1]:8080/a", referrer="http://[2001:db8::2]/b")),
    ("Direct", Visit(url="https://[2001:db8::1]:8080/a", referrer="http://[2001:DB8:0::1]/b")),
    ("Referral", Visit(url="https://192.0.2.1:8080/", referrer="http://192.0.3.1/")),
    ("Direct", Visit(url=SHOP, referrer="https://WWW.PayPal.com.:443/")),
    ("Organic Social", Visit(url=SHOP, referrer="android-app://t.co/1")),
    ("Organic Search", Visit(url=SHOP, referrer="http://search.daum.net/search?q=x")),
    ("Organic Search", Visit(url=SHOP, referrer="https://r.search.yahoo.com/x")),
    ("Organic Search", Visit(source="daum")),
    ("Organic Social", Visit(url=SHOP, referrer="https://l.facebook.com/l.php")),
    ("Organic Social", Visit(url=SHOP, referrer="http://kufli.blogspot.co.uk/2013/07/")),
    ("Organic Social", Visit(url=SHOP, referrer="https://codebright.wordpress.com/")),
    ("Organic Social", Visit(url=SHOP, referrer="https://groups.google.com/g/x")),
    ("Organic Social", Visit(url=SHOP, referrer="https://answers.yahoo.com/question/x")),
    ("Referral", Visit(url=SHOP, referrer="https://translate.googleusercontent.com/translate_c")),
    ("Referral", Visit(url=SHOP, referrer="https://en.wikipedia.org/wiki/Shop")),
    ("Referral", Visit(url=SHOP, referrer="https://notfacebook.com/")),
    ("Referral", Visit(url=SHOP, referrer="https://blog.example/")),
    ("Referral", Visit(referrer=SHOP)),
]


@pytest.fixture(scope="module")
def rules() -> ChannelRules:
    return load_channel_rules(load_settings().conf)


@pytest.mark.parametrize(("channel", "visit"), CASES, ids=lambda value: str(value).replace("Visit", ""))
def test_visit_is_classified_by_first_matching_channel_rule(
    rules: ChannelRules, channel: str, visit: Visit
) -> None:
    assert rules.classify(visit)[0] == channel
