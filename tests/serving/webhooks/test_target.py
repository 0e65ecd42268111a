"""URLs that webhooks may deliver to."""

import pytest

from lakehouse.errors import MillraceError
from serving.webhooks.target import check_target, hosts_of

HOSTS = hosts_of(" hooks.example.com, Other.example ,")


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/a?b=c",
        "https://HOOKS.example.com:8443/",
        "https://other.example",
        "http://127.0.0.1:8000/",
        "http://127.9.9.9/",
        "http://localhost:1/",
        "http://[::1]:1/",
        "https://127.0.0.1/",
    ],
)
def test_allowed_https_host_or_localhost_is_accepted(url: str) -> None:
    check_target(url, HOSTS, is_local=True)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.com",
        "https://",
        "http://hooks.example.com/",
        "ftp://127.0.0.1/",
        "https://example.com/",
        "https://hooks.example.com.evil.example/",
        "https://evil.example/hooks.example.com",
        "https://evil.example#@hooks.example.com",
        "https://hooks.example.com@evil.example/",
        "https://user:pass@hooks.example.com/",
        "https://169.254.169.254/",
        "http://127.0.0.1.evil.example/",
        "http://2130706433/",
        "http://0.0.0.0/",
        "https://hooks.example.com:port/",
        "https://hooks.example.com/\n",
        "https://hooks.example.com/" + "a" * 2000,
    ],
)
def test_unlisted_insecure_or_malformed_url_is_rejected(url: str) -> None:
    with pytest.raises(MillraceError):
        check_target(url, HOSTS, is_local=True)


def test_no_host_is_allowed_by_default() -> None:
    assert hosts_of(None) == hosts_of("") == frozenset()


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/", "http://localhost:1/", "https://[::1]/"])
def test_localhost_target_of_remote_reader_must_be_allowed(url: str) -> None:
    with pytest.raises(MillraceError, match="may not be sent to"):
        check_target(url, HOSTS, is_local=False)
    check_target(url, {"127.0.0.1", "localhost", "::1"}, is_local=False)
