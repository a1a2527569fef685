"""Keys and columns of rows of access: tokens, and the grants of users and groups.

docs/reference/row-keys.md specifies the format; the tests check this module against its vectors.
"""

from __future__ import annotations

from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, escape, join_key, unescape
from fll_hbase.model.access import Grant, Role, Subject, SubjectKind
from fll_hbase.runtime.errors import CorruptRow

TOKENS, GRANTS = layout.ACCESS + b"t|", layout.ACCESS + b"g|"
"""Key prefixes of tokens, and of the grants of users and groups."""

TOKEN, REVOKED = b"d:k", b"d:x"
"""Columns of a token: its content, and a permanent mark that it was revoked."""

GRANT = b"d:r|"

_LETTER = {SubjectKind.USER: b"u", SubjectKind.GROUP: b"g"}
_KINDS = {letter: kind for kind, letter in _LETTER.items()}


def token_row(token_id: str) -> bytes:
    """Return the key of the row of an access token, given its id."""
    return TOKENS + escape(token_id)


def parse_token(key: bytes) -> str:
    """Invert `token_row`. Raises CorruptRow for any other key."""
    if not key.startswith(TOKENS):
        raise CorruptRow(f"{key!r} is not the key of a token")
    return unescape(key[len(TOKENS) :])


def grants_row(subject: Subject) -> bytes:
    """Return the key of the row that holds all grants of a user or group."""
    return GRANTS + join_key(_LETTER[subject.kind], escape(subject.name))


def parse_subject(key: bytes) -> Subject:
    """Invert `grants_row`. Raises CorruptRow for any other key."""
    letter, separator, name = key.removeprefix(GRANTS).partition(SEPARATOR)
    if not key.startswith(GRANTS) or letter not in _KINDS or not separator:
        raise CorruptRow(f"{key!r} is not the key of grants")
    return Subject(_KINDS[letter], unescape(name))


def grant_column(grant: Grant) -> bytes:
    """Return the column of one grant (a role on a pattern of namespaces) in the row of a user or group."""
    return GRANT + join_key(grant.role.value.encode(), escape(grant.pattern))


def parse_grant(column: bytes) -> Grant:
    """Return the grant of a column. Raises CorruptRow for any other column, and for a role unknown here."""
    role, separator, pattern = column.removeprefix(GRANT).partition(SEPARATOR)
    if not column.startswith(GRANT) or not separator:
        raise CorruptRow(f"{column!r} is not the column of a grant")
    try:
        return Grant(Role(role.decode()), unescape(pattern))
    except ValueError as error:
        raise CorruptRow(f"{column!r} has no role of this release") from error
