"""Certificates for TLS tests, and clients and collectors that use them."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from kit.collecting import Node
from millrace.local.kafka.certificates import new_authority


@dataclass(frozen=True)
class Certificates:
    """Files of a certificate authority, and of a server and a client that it signed.

    Args:
        folder: their folder; `server` and `client` each hold a key and its certificate.
    """

    folder: Path

    @property
    def ca(self) -> Path:
        """Certificate of the authority."""
        return self.folder / "ca.pem"

    @property
    def server(self) -> Path:
        """Key and certificate of a server on 127.0.0.1."""
        return self.folder / "server.pem"

    @property
    def client(self) -> Path:
        """Key and certificate of a client."""
        return self.folder / "client.pem"

    def trust(self, client: Path | None = None) -> ssl.SSLContext:
        """The TLS context of a client that trusts the authority, with or without a client certificate."""
        context = ssl.create_default_context(cafile=str(self.ca))
        if client is not None:
            context.load_cert_chain(client)
        return context


def new_certificates(folder: Path) -> Certificates:
    """Create the certificates in a new folder."""
    folder.mkdir()
    authority, made = new_authority("test"), Certificates(folder)
    made.ca.write_bytes(authority.pem)
    made.server.write_bytes(authority.issue("server", ("127.0.0.1", "localhost")))
    made.client.write_bytes(authority.issue("client"))
    return made


@dataclass
class SecureNode(Node):
    """A collector with HTTPS.

    Args:
        context: the TLS context for requests to it.
    """

    context: ssl.SSLContext | None = None

    def answers(self) -> bool:
        """Whether it answers."""
        try:
            with urlopen(f"https://127.0.0.1:{self.port}/health", timeout=1, context=self.context) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False
