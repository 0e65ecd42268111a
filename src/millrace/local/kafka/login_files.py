"""Creates the certificates and the password of the local broker."""

import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from bronze.broker_login import LoginFiles
from lakehouse.errors import MillraceError
from lakehouse.files import create_secret, write_private
from lakehouse.settings import BrokerSecurity
from millrace.local.process.ports import HOST


def make_login(home: Path, security: BrokerSecurity) -> None:
    """Create missing files of the broker's login; none if it requires no login.

    Only the owner may read them. The authority's key is not stored.

    Args:
        home: the folder of all local state.
        security: authentication of clients.
    """
    if security == "plaintext":
        return
    files = LoginFiles(home)
    files.folder.parent.mkdir(parents=True, exist_ok=True)
    if not files.folder.exists():
        _make_certificates(files)
    if not files.password.exists():
        create_secret(files.password, secrets.token_urlsafe(24))


def _make_certificates(files: LoginFiles) -> None:
    """Write them to a temporary folder, then rename it, unless another process was first."""
    from millrace.local.kafka.certificates import new_authority

    authority = new_authority("Millrace local CA")
    draft = Path(tempfile.mkdtemp(prefix="tls.", dir=files.folder.parent))  # 0700
    try:
        write_private(draft / files.ca.name, authority.pem)
        write_private(draft / files.broker.name, authority.issue("broker", (HOST, "localhost")))
        write_private(draft / files.client.name, authority.issue("client"))
        with suppress(OSError):
            draft.rename(files.folder)
        if not files.folder.is_dir():
            raise MillraceError(f"{files.folder} can't be made", "See that its folder can be written to")
    finally:
        shutil.rmtree(draft, ignore_errors=True)
