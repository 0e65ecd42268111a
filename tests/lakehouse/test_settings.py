"""Precedence of settings: flag over environment over bundle variable over default."""

from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


@pytest.fixture(autouse=True)
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle file one folder above the working directory."""
    for name in ("MILLRACE_HOME", "MILLRACE_EVENTS_TOPIC", "MILLRACE_REPORTING_CURRENCY"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "bundle.yml"
    path.write_text("variables:\n  events_topic:\n    default: of-the-bundle\n  unknown:\n    default: 1\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return path


def test_bundle_variable_overrides_default() -> None:
    assert load_settings().events_topic == "of-the-bundle"
    assert load_settings().reporting_currency == "EUR"


def test_environment_overrides_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_EVENTS_TOPIC", "of-the-environment")
    assert load_settings().events_topic == "of-the-environment"
    assert load_settings(events_topic=None).events_topic == "of-the-environment"


def test_empty_environment_variable_unsets_bundle_variable(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle.write_text("variables:\n  heartbeat_interval:\n    default: PT5M\n")
    assert load_settings().heartbeat_interval == timedelta(minutes=5)
    monkeypatch.setenv("MILLRACE_HEARTBEAT_INTERVAL", "")
    assert load_settings().heartbeat_interval is None
    monkeypatch.setenv("MILLRACE_REPORTING_CURRENCY", "")
    with pytest.raises(MillraceError, match="reporting_currency"):
        load_settings()


def test_flag_overrides_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_EVENTS_TOPIC", "of-the-environment")
    assert load_settings(events_topic="of-the-flag").events_topic == "of-the-flag"


def test_bundle_variable_without_value_keeps_default(bundle: Path) -> None:
    bundle.write_text(
        'variables:\n  events_topic:\n    description: none\n  reporting_currency:\n    default: ""\n'
    )
    assert load_settings().events_topic == "events"
    assert load_settings().reporting_currency == "EUR"


def test_conf_folder_is_beside_the_bundle(bundle: Path) -> None:
    assert load_settings().conf == bundle.parent / "conf"


def test_home_is_absolute_and_contains_warehouse(bundle: Path) -> None:
    settings = load_settings(home="there")
    assert settings.home == bundle.parent / "below" / "there"
    assert settings.warehouse == settings.home / "warehouse"


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "", "../etc/passwd", "Europe"])
def test_unknown_business_time_zone_is_rejected(zone: str) -> None:
    assert load_settings(business_time_zone="Europe/Berlin").business_time_zone == "Europe/Berlin"
    with pytest.raises(MillraceError, match="business_time_zone"):
        load_settings(business_time_zone=zone)


def test_vacuum_retention_below_one_day_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_VACUUM_RETENTION", "P1D")
    assert load_settings().vacuum_retention == timedelta(days=1)
    monkeypatch.setenv("MILLRACE_VACUUM_RETENTION", "PT0S")
    with pytest.raises(MillraceError, match=r"vacuum_retention.*1 day"):
        load_settings()


def test_duration_setting_is_parsed_from_iso_8601(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_WATERMARK_DELAY", "PT1H")
    assert load_settings().watermark_delay == timedelta(hours=1)


def test_invalid_setting_is_named_in_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_BROKER_PORT", "harbour")
    with pytest.raises(MillraceError, match="broker_port"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "limit", "beyond"),
    [
        ("watermark_delay", "PT0S", "-PT10M"),  # events would be late that are on time, and stay so
        ("trigger_interval", "PT0.001S", "PT0S"),
        ("repair_interval", "PT0.001S", "-PT5S"),
        ("summary_interval", "PT0.001S", "PT0S"),
        ("max_batch_rows", "1", "0"),
        ("broker_port", "65535", "65536"),
        ("dashboard_port", "1", "0"),
        ("collector_port", "65535", "99999"),
        ("api_port", "1", "-1"),
        ("reporting_currency", "usd", "EURO"),
    ],
)
def test_setting_beyond_its_limit_is_rejected(
    monkeypatch: pytest.MonkeyPatch, name: str, limit: str, beyond: str
) -> None:
    monkeypatch.setenv(f"MILLRACE_{name.upper()}", limit)
    load_settings()
    monkeypatch.setenv(f"MILLRACE_{name.upper()}", beyond)
    with pytest.raises(MillraceError, match=name):
        load_settings()
