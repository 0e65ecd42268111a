"""TLS certificates of the HTTP servers."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakehouse.errors import MillraceError


@dataclass(frozen=True)
class Tls:
    """Certificates of HTTPS, as PEM files.

    Args:
        certificate: of the server, with its chain.
        key: of that certificate.
        client_ca: authorities that sign clients' certificates, which are then required; None: not required.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @classmethod
    def of(cls, certificate: Path | None, key: Path | None, client_ca: Path | None = None) -> "Tls | None":
        """The certificates of a command's options, checked; None without any.

        Raises:
            MillraceError: if one is missing or can't be used.
        """
        if (certificate is None) != (key is None) or (client_ca and not certificate):
            raise MillraceError(
                "HTTPS needs a certificate and its key", "Give --tls-certificate and --tls-key"
            )
        if certificate is None or key is None:
            return None
        found = cls(certificate, key, client_ca)
        found.check()
        return found

    def check(self) -> None:
        """Read the files.

        Raises:
            MillraceError: if a file is missing or not PEM, or the key does not match the certificate.
        """
        for file in (self.certificate, self.key, self.client_ca):
            if file is not None and not file.is_file():
                raise MillraceError(f"{file} is not there", "Give the PEM files of certificate and key")
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate, self.key)
            if self.client_ca is not None:
                context.load_verify_locations(self.client_ca)
        except (ssl.SSLError, OSError) as error:
            raise MillraceError(
                f"{self.certificate}, its key or the clients' authority can't be used: {error}",
                "Each has to be PEM, and the key that of the certificate",
            ) from None

    def options(self) -> dict[str, Any]:
        """Options of uvicorn."""
        options: dict[str, Any] = {"ssl_certfile": str(self.certificate), "ssl_keyfile": str(self.key)}
        if self.client_ca is not None:
            options |= {"ssl_ca_certs": str(self.client_ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
        return options
