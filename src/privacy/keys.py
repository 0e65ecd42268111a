"""Keys of requests and certificates, in `privacy/` of a home."""

from lakehouse.access.mask_key import HomeKey

FOLDER = "privacy"


class RequestKey(HomeKey):
    """The key of hashes of identities, and of the register's chain."""

    folder, name, loss = FOLDER, "requests.key", "no request of the register can be checked any more"


class SigningKey(HomeKey):
    """The private key of certificates, of Ed25519."""

    folder, name, loss = FOLDER, "signing.key", "certificates are signed with another key from then on"
