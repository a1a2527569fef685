"""Tokens, and grants of users and groups: created, listed, revoked and removed.

Only hashes of tokens are stored. docs/reference/row-keys.md defines the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from fll_hbase.keys import access_rows, layout, ranges
from fll_hbase.model.access import AccessToken, Grant, Role, Subject, new_token
from fll_hbase.runtime import damage
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import CorruptRow, FieldError, InvalidQuery, NotFound, in_row
from fll_hbase.store.rows.run_rows import checked_put, decode_json
from fll_hbase.store.rows.tag_rows import REMOVED
from fll_hbase.tables import Put, Row, Table

NAME_BYTES_MAX = 256
"""Maximum length of a token, user or group name, and of a pattern, in bytes of UTF-8."""

GRANTS_MAX = 1_000
"""Maximum number of grants of one token."""

_VALUE = "a value of this column"


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token without its secret; times in milliseconds since 1970, None for never."""

    id: str
    name: str
    sha256: str
    grants: tuple[Grant, ...]
    at_ms: int
    expires_ms: int | None = None
    revoked_ms: int | None = None

    def is_valid(self, at_ms: int) -> bool:
        """Return whether the token was never revoked and has not expired at `at_ms` (ms since 1970)."""
        return self.revoked_ms is None and (self.expires_ms is None or at_ms < self.expires_ms)


class _Token(
    msgspec.Struct, frozen=True, omit_defaults=True, rename={"at_ms": "at", "expires_ms": "expires"}
):
    """The value of a token's cell; grants are pairs of role and pattern."""

    at_ms: int
    name: str
    sha256: str
    grants: list[tuple[Role, str]]
    expires_ms: int | None = None


class _Mark(msgspec.Struct, frozen=True, rename={"at_ms": "at"}):
    """The value of a revocation, and of a grant."""

    at_ms: int


class AccessStore:
    """Tokens and grants of a table, without a cache. Threads and processes may share it.

    Methods raise StoreUnavailable and CorruptRow.
    """

    def __init__(self, table: Table, *, clock: Callable[[], int] = now_ms) -> None:
        self._table = table
        self._clock = clock

    def create_token(
        self, name: str, grants: Sequence[Grant], *, lifetime_ms: int | None = None
    ) -> tuple[StoredToken, AccessToken]:
        """Store a new token; return it and its secret, which cannot be recovered later.

        Without `lifetime_ms` it never expires. Raises InvalidQuery unless the name and all patterns have 1 to
        NAME_BYTES_MAX bytes of printable characters, and there are 1 to GRANTS_MAX grants.
        """
        check_names(name, grants)
        if not 0 < len(grants) <= GRANTS_MAX:
            raise InvalidQuery([FieldError("namespace", f"give 1 to {GRANTS_MAX:,} roles on patterns")])
        token, at_ms = new_token(), self._clock()
        expires_ms = None if lifetime_ms is None else at_ms + lifetime_ms
        stored = StoredToken(token.id, name, token.digest(), tuple(grants), at_ms, expires_ms)
        value = _Token(at_ms, name, stored.sha256, [(item.role, item.pattern) for item in grants], expires_ms)
        key = access_rows.token_row(token.id)
        self._write(checked_put(key, access_rows.TOKEN, msgspec.json.encode(value), f"token {name!r}"))
        return stored, token

    def token(self, token_id: str) -> StoredToken | None:
        """Return a token by its id, even if revoked or expired, or None if it was never stored."""
        key = access_rows.token_row(token_id)
        row = self._table.get(key, columns=(access_rows.TOKEN, access_rows.REVOKED))
        return decode_token(key, row) if row else None

    def tokens(self) -> Iterator[StoredToken]:
        """Yield all tokens in order of their ids, including revoked and expired ones, but no damaged ones."""
        for key, row in self._scan(access_rows.TOKENS):
            with damage.leaving_out():
                yield decode_token(key, row)

    def revoke(self, token_id: str) -> StoredToken:
        """Revoke a token permanently and durably. A revoked token keeps its time. Raises NotFound."""
        stored = self.token(token_id)
        if stored is None:
            raise NotFound(f"there is no token with the id {token_id[:100]!r}; `fll token list` shows all")
        if stored.revoked_ms is not None:
            return stored
        at_ms = self._clock()
        self._write(Put(access_rows.token_row(token_id), access_rows.REVOKED, _mark(at_ms)))
        return replace(stored, revoked_ms=at_ms)

    def set_grants(self, subject: Subject, grants: Sequence[Grant]) -> None:
        """Give a user or group further grants, durably. Raises InvalidQuery for what `is_name` refuses."""
        check_names(subject.name, grants)
        key, mark = access_rows.grants_row(subject), _mark(self._clock())
        self._write(*(Put(key, access_rows.grant_column(grant), mark) for grant in grants))

    def remove_grants(self, subject: Subject, grants: Sequence[Grant] = ()) -> tuple[Grant, ...]:
        """Remove these grants of a user or group, or all if none is given; return them.

        Raises NotFound, and removes nothing, if one of them is missing or there is none.
        """
        present = self.grants([subject]).get(subject, ())
        removed = tuple(grants) or present
        missing = [grant for grant in removed if grant not in present]
        if missing or not removed:
            texts = ", ".join(f"{grant.role.value} on {grant.pattern}" for grant in missing) or "any grant"
            raise NotFound(f"{subject} does not have {texts}; `fll grant list` shows all")
        key = access_rows.grants_row(subject)
        self._write(*(Put(key, access_rows.grant_column(grant), REMOVED) for grant in removed))
        return removed

    def grants(self, subjects: Iterable[Subject]) -> dict[Subject, tuple[Grant, ...]]:
        """Return the sorted grants of users and groups in one call, leaving out subjects without grants."""
        keys = [access_rows.grants_row(subject) for subject in subjects]
        rows = self._table.rows(keys, columns=(layout.LIGHT,)) if keys else {}
        decoded = (decode_grants(key, row) for key, row in rows.items())
        return {subject: grants for subject, grants in decoded if grants}

    def all_grants(self) -> Iterator[tuple[Subject, tuple[Grant, ...]]]:
        """Yield the users and groups that have grants, each with its grants, leaving out damaged rows."""
        for key, row in self._scan(access_rows.GRANTS):
            with damage.leaving_out():
                subject, grants = decode_grants(key, row)
                if grants:
                    yield subject, grants

    def _scan(self, prefix: bytes) -> Iterator[tuple[bytes, Row]]:
        """Yield the rows of tokens or of grants, by their key prefix."""
        return self._table.scan(*ranges.prefix_range(prefix), columns=(layout.LIGHT,))

    def _write(self, *puts: Put) -> None:
        """Write the cells in one batch, durably."""
        self._table.write([list(puts)])


def check_names(name: str, grants: Sequence[Grant]) -> None:
    """Raise one InvalidQuery for an invalid name and all invalid patterns of grants; see `is_name`."""
    names = {"name": name, **{f"namespace.{n}": grant.pattern for n, grant in enumerate(grants)}}
    errors = [
        FieldError(path, f"must have 1 to {NAME_BYTES_MAX} bytes of printable characters")
        for path, name in names.items()
        if not is_name(name)
    ]
    if errors:
        raise InvalidQuery(errors)


def is_name(text: str) -> bool:
    """Return whether a text is printable, for logs and tables, and has 1 to NAME_BYTES_MAX bytes of UTF-8."""
    # Lone surrogates are not printable, so a printable text can be encoded.
    return text.isprintable() and 0 < len(text.encode()) <= NAME_BYTES_MAX


def decode_token(key: bytes, row: Row) -> StoredToken:
    """Return the token in a row. Raises CorruptRow, including for a row with only a revocation."""
    with in_row(key):
        token_id = access_rows.parse_token(key)
        if access_rows.TOKEN not in row:
            raise CorruptRow("a token without its hash")
        value = decode_json(row[access_rows.TOKEN].value, _Token, _VALUE)
        mark = row.get(access_rows.REVOKED)
        revoked_ms = decode_json(mark.value, _Mark, _VALUE).at_ms if mark is not None else None
    grants = tuple(Grant(role, pattern) for role, pattern in value.grants)
    return StoredToken(token_id, value.name, value.sha256, grants, value.at_ms, value.expires_ms, revoked_ms)


def decode_grants(key: bytes, row: Row) -> tuple[Subject, tuple[Grant, ...]]:
    """Return the user or group of a row and its remaining grants, sorted. Raises CorruptRow."""
    with in_row(key):
        subject = access_rows.parse_subject(key)
        grants = []
        for column, cell in row.items():
            # A newer release may have further columns.
            if column.startswith(access_rows.GRANT):
                grant = access_rows.parse_grant(column)
                if cell.value != REMOVED:
                    decode_json(cell.value, _Mark, _VALUE)
                    grants.append(grant)
    return subject, tuple(sorted(grants, key=lambda grant: (grant.role.value, grant.pattern)))


def _mark(at_ms: int) -> bytes:
    """Return the value of a cell that only records when it was put."""
    return msgspec.json.encode(_Mark(at_ms))
