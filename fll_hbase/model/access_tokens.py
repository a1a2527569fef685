"""The text of a token: `fll_<id>_<secret>_<check>`, with a checksum that finds typing errors."""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from dataclasses import dataclass

PREFIX = "fll_"
"""Secret scanners find tokens by this prefix; docs/operate/security.md has the regular expression."""

TOKEN = re.compile(r"fll_([0-9a-f]{16})_([0-9a-f]{64})_([0-9a-f]{8})", re.ASCII)

_ID_BYTES, _SECRET_BYTES = 8, 32


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A public id and a secret of 256 bits, both in hex."""

    id: str
    secret: str

    def __str__(self) -> str:
        # Logs and errors format values, so no representation of a token shows the secret.
        return f"token {self.id}"

    __repr__ = __str__

    def text(self) -> str:
        """Return the token as its owner sends it: `fll_<id>_<secret>_<check>`."""
        body = f"{PREFIX}{self.id}_{self.secret}"
        return f"{body}_{_check(body)}"

    def digest(self) -> str:
        """Return the SHA-256 of the text in hex; the store keeps nothing else of a token."""
        # A salt or a slow hash is not needed: 256 random bits cannot be guessed from their hash.
        return hashlib.sha256(self.text().encode()).hexdigest()


def new_token() -> AccessToken:
    """Return a token with a random id and a random secret."""
    return AccessToken(secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES))


def parse_token(text: str) -> AccessToken:
    """Return the token of a text. Raises ValueError, without quoting the text."""
    match = TOKEN.fullmatch(text)
    if match is None:
        raise ValueError("is not of the form of a token: fll_, an id, a secret and a checksum")
    token = AccessToken(match[1], match[2])
    if token.text() != text:
        raise ValueError("has a wrong checksum: mistyped, or cut off")
    return token


def _check(body: str) -> str:
    """Return the check digits of a token's body: its CRC-32 as 8 hex digits."""
    return f"{zlib.crc32(body.encode()):08x}"
