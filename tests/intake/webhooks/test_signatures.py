"""Signatures of webhooks, with vectors that the providers document or that OpenSSL computed."""

import base64
import hmac
from hashlib import sha256

import pytest

from intake.webhooks.signatures import Scheme, SignatureError, check_signature, signing_key

NOW = 1614265330.0
# The example of the Standard Webhooks libraries (standard-webhooks/standard-webhooks, "sign function works").
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
# Stripe and Shopify publish no example with its secret: these are of `openssl dgst -sha256 -hmac SECRET`,
# for Stripe of `1614265330.BODY` (docs.stripe.com/webhooks, "Verify webhook signatures manually").
STRIPE = {
    "stripe-signature": "t=1614265330,v1=e135cdbed3dda004bf8a2fb350f2541d299393c770e0b9e6e319dc595e9072aa,v0="
}
SHOPIFY = {"x-shopify-hmac-sha256": "+TTNLrIAr++NEmlyRgFUnRYTKAMRFpBc9+Qp7eD6x2I="}
# The example of GitHub's documentation, "Validating webhook deliveries".
GITHUB = {"x-signature": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}
VECTORS = {
    Scheme.STANDARD_WEBHOOKS: (STANDARD, b'{"test": 2432232314}', STANDARD_SECRET),
    Scheme.STRIPE: (STRIPE, b'{"id":"evt_1"}', "whsec_test_secret"),
    Scheme.SHOPIFY: (SHOPIFY, b'{"id":"evt_1"}', "hush"),
    Scheme.HMAC_SHA256: (GITHUB, b"Hello, World!", "It's a Secret to Everybody"),
}
WRONG_SECRETS = dict.fromkeys(VECTORS, "d3Jvbmc=")
each_scheme = pytest.mark.parametrize("scheme", VECTORS)
with_timestamp = pytest.mark.parametrize("scheme", [Scheme.STRIPE, Scheme.STANDARD_WEBHOOKS])


def check(
    scheme: Scheme,
    headers: dict[str, str],
    body: bytes,
    *secrets: str,
    now: float = NOW,
    tolerance: float = 300,
) -> None:
    keys = [signing_key(scheme, secret) for secret in secrets]
    check_signature(scheme, headers, body, keys, now=now, tolerance=tolerance, header="X-Signature")


@each_scheme
def test_signature_of_provider_is_accepted(scheme: Scheme) -> None:
    headers, body, secret = VECTORS[scheme]
    check(scheme, headers, body, secret)
    check(scheme, headers, body, WRONG_SECRETS[scheme], secret)


@each_scheme
def test_altered_body_is_rejected(scheme: Scheme) -> None:
    headers, body, secret = VECTORS[scheme]
    for place in range(len(body)):
        altered = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
        with pytest.raises(SignatureError, match="not that of the body"):
            check(scheme, headers, altered, secret)
    with pytest.raises(SignatureError):
        check(scheme, headers, body + b" ", secret)


@each_scheme
def test_signature_with_another_secret_is_rejected(scheme: Scheme) -> None:
    headers, body, _ = VECTORS[scheme]
    with pytest.raises(SignatureError, match="not that of the body"):
        check(scheme, headers, body, WRONG_SECRETS[scheme])


@each_scheme
def test_missing_or_malformed_signature_is_rejected(scheme: Scheme) -> None:
    headers, body, secret = VECTORS[scheme]
    blank = dict.fromkeys(headers, "")
    for given in ({}, blank, dict.fromkeys(headers, "t=1614265330,v1="), dict.fromkeys(headers, "ä,,=,")):
        with pytest.raises(SignatureError):
            check(scheme, given, body, secret)


@with_timestamp
@pytest.mark.parametrize("seconds", [-301, 301, 10**9])
def test_signature_outside_time_tolerance_is_rejected(scheme: Scheme, seconds: int) -> None:
    headers, body, secret = VECTORS[scheme]
    check(scheme, headers, body, secret, now=NOW + (300 if seconds > 0 else -300))
    with pytest.raises(SignatureError, match="timestamp"):
        check(scheme, headers, body, secret, now=NOW + seconds)


@with_timestamp
def test_altered_timestamp_is_rejected(scheme: Scheme) -> None:
    headers, body, secret = VECTORS[scheme]
    later = {name: value.replace("1614265330", "1614269999") for name, value in headers.items()}
    with pytest.raises(SignatureError, match="not that of the body"):
        check(scheme, later, body, secret, now=1614269999)


@pytest.mark.parametrize("at", ["", "-5", "1e9", "²", "9" * 5000])
def test_malformed_signed_timestamp_is_rejected(at: str) -> None:
    body = b"{}"
    digest = hmac.new(b"key", f"{at}.".encode() + body, sha256).hexdigest()
    with pytest.raises(SignatureError, match="no timestamp"):
        check(Scheme.STRIPE, {"stripe-signature": f"t={at},v1={digest}"}, body, "key")


def test_one_valid_signature_among_several_is_enough() -> None:
    # Both schemes send several while a secret is replaced.
    _, body, secret = VECTORS[Scheme.STRIPE]
    given = STRIPE["stripe-signature"]
    check(Scheme.STRIPE, {"stripe-signature": f"{given.replace('v1=', 'v1=00,v1=')}"}, body, secret)
    several = {**STANDARD, "webhook-signature": f"v1a,abc v1,AAAA {STANDARD['webhook-signature']} x"}
    check(Scheme.STANDARD_WEBHOOKS, several, VECTORS[Scheme.STANDARD_WEBHOOKS][1], STANDARD_SECRET)


def test_signature_of_unsupported_version_is_ignored() -> None:
    _, body, secret = VECTORS[Scheme.STRIPE]
    with pytest.raises(SignatureError, match="missing"):
        check(
            Scheme.STRIPE,
            {"stripe-signature": STRIPE["stripe-signature"].replace("v1=", "v2=")},
            body,
            secret,
        )
    other = {**STANDARD, "webhook-signature": STANDARD["webhook-signature"].replace("v1,", "v1a,")}
    with pytest.raises(SignatureError, match="missing"):
        check(Scheme.STANDARD_WEBHOOKS, other, VECTORS[Scheme.STANDARD_WEBHOOKS][1], STANDARD_SECRET)


def test_hex_signature_may_have_any_case_and_no_prefix() -> None:
    _, body, secret = VECTORS[Scheme.HMAC_SHA256]
    digits = GITHUB["x-signature"].removeprefix("sha256=")
    for given in (digits, digits.upper(), f"SHA256={digits}"):
        check(Scheme.HMAC_SHA256, {"x-signature": given}, body, secret)


@pytest.mark.parametrize(
    ("scheme", "secret"),
    [
        (Scheme.STRIPE, ""),
        (Scheme.STANDARD_WEBHOOKS, "whsec_"),
        (Scheme.STANDARD_WEBHOOKS, "whsec_not base64!"),
    ],
)
def test_invalid_secret_is_rejected_without_being_shown(scheme: Scheme, secret: str) -> None:
    with pytest.raises(ValueError, match="secret is") as error:
        signing_key(scheme, secret)
    assert "not base64!" not in str(error.value)


def test_standard_webhooks_secret_may_lack_prefix_and_padding() -> None:
    key = b"0123456789"
    encoded = base64.b64encode(key).decode()
    for secret in (encoded, encoded.rstrip("="), f"whsec_{encoded}"):
        assert signing_key(Scheme.STANDARD_WEBHOOKS, secret) == key
