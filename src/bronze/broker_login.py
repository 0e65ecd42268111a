"""Login to the local broker: its files in the home, and the settings that use them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.settings import BrokerSecurity

USER = "millrace"
"""The one user of the local broker."""


@dataclass(frozen=True)
class LoginFiles:
    """Where a home keeps the certificates and the password of its broker.

    Args:
        home: the folder of all local state.
    """

    home: Path

    @property
    def folder(self) -> Path:
        """Folder of the certificates."""
        return self.home / "kafka" / "tls"

    @property
    def ca(self) -> Path:
        """Certificate that signs the other two."""
        return self.folder / "ca.pem"

    @property
    def broker(self) -> Path:
        """Key and certificate of the broker."""
        return self.folder / "broker.pem"

    @property
    def client(self) -> Path:
        """Key and certificate of its clients."""
        return self.folder / "client.pem"

    @property
    def password(self) -> Path:
        """Password of the user."""
        return self.home / "kafka" / "password"


def login_settings(home: Path, security: BrokerSecurity) -> dict[str, Any]:
    """The kafka_* settings of clients of the local broker; empty if it requires no login.

    Raises:
        MillraceError: if the broker has never been started with a login.
    """
    files = LoginFiles(home)
    if security == "plaintext":
        return {}
    try:
        password = files.password.read_text(encoding="utf-8")
    except OSError:
        raise MillraceError(
            f"the local broker in {home} has no login yet", "Start it with `millrace up --broker`"
        ) from None
    if security == "mtls":
        return {
            "kafka_security_protocol": "SSL",
            "kafka_ca_file": files.ca,
            "kafka_certificate_file": files.client,
            "kafka_sasl_mechanism": None,
        }
    return {
        "kafka_security_protocol": "SASL_SSL",
        "kafka_ca_file": files.ca,
        "kafka_certificate_file": None,
        "kafka_sasl_mechanism": "PLAIN",
        "kafka_username": USER,
        "kafka_password": password,
    }
