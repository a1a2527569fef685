"""Principals and their grants: roles on patterns of namespaces, for users, groups and tokens.

The text of a token is `fll_<id>_<secret>_<check>`, with a checksum that finds typing errors.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache

_DECISIONS_MAX = 4_096


class Role(Enum):
    """A set of rights that a grant gives in its namespaces."""

    READER = "reader"
    """Queries datasets, runs and programs."""
    RECORDER = "recorder"
    """Records runs of programs, and what the runs write. Does not read."""
    STEWARD = "steward"
    """Sets tags and policies, and reads."""
    ADMIN = "admin"
    """Has the rights of all other roles, and manages tokens, grants and deletes."""


_INCLUDED_IN = {
    Role.READER: (Role.READER, Role.STEWARD, Role.ADMIN),
    Role.RECORDER: (Role.RECORDER, Role.ADMIN),
    Role.STEWARD: (Role.STEWARD, Role.ADMIN),
    Role.ADMIN: (Role.ADMIN,),
}
"""For each role, the roles that include it."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A role in all namespaces that match a pattern, in which `*` is any number of any characters."""

    role: Role
    pattern: str


@dataclass(frozen=True)
class Principal:
    """A sender of requests: a name that logs may show, and all grants.

    Several tokens may share a name; `id` distinguishes them, and is empty where the name is enough.
    """

    name: str
    grants: tuple[Grant, ...]
    id: str = ""

    @cached_property
    def digest(self) -> str:
        """Return 16 hex digits computed from `id` and `name`, not from the grants."""
        text = f"{self.id}\n{self.name}".encode(errors="surrogatepass")
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def may(self, role: Role, namespace: str) -> bool:
        """Return whether a grant includes the role in the namespace."""
        return _matches(self._expressions[role], namespace)

    def may_anywhere(self, role: Role) -> bool:
        """Return whether any grant includes the role, in any namespace."""
        return bool(self._patterns[role])

    def may_everywhere(self, role: Role) -> bool:
        """Return whether a grant includes the role in all namespaces, including future ones."""
        return "*" in self._patterns[role]

    @cached_property
    def grant_set(self) -> frozenset[Grant]:
        """Return the grants as a set; principals with equal sets see and may do the same."""
        return frozenset(self.grants)

    @cached_property
    def _expressions(self) -> dict[Role, re.Pattern[str]]:
        """Return, by role, the expression for the namespaces in which a grant includes it."""
        return {role: pattern_expression(patterns) for role, patterns in self._patterns.items()}

    @cached_property
    def _patterns(self) -> dict[Role, set[str]]:
        """Return, by role, the patterns of the grants whose role is that role or includes it."""
        return {
            role: {grant.pattern for grant in self.grants if grant.role in including}
            for role, including in _INCLUDED_IN.items()
        }

    def patterns(self, role: Role) -> set[str]:
        """Return the patterns of the grants whose role is `role` or includes it."""
        return self._patterns[role]


@lru_cache(maxsize=_DECISIONS_MAX)
def _matches(expression: re.Pattern[str], namespace: str) -> bool:
    """Return whether the expression matches the whole namespace; the latest answers are cached."""
    return expression.fullmatch(namespace) is not None


def pattern_expression(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return one expression whose `fullmatch` tests all patterns at once. Without patterns, none matches."""
    alternatives = [_alternative(pattern) for pattern in sorted(patterns)]
    # With no patterns, nothing matches, not even an empty namespace.
    return re.compile("|".join(alternatives) if alternatives else r"(?!)", re.DOTALL)


def _alternative(pattern: str) -> str:
    """Return the expression of one pattern, which matches in time linear in the length of a namespace."""
    first, *others = map(re.escape, pattern.split("*"))
    if not others:
        return first
    # The first place of each text is as good as any later one, so atomic groups prevent backtracking.
    return first + "".join(f"(?>.*?{text})" for text in others[:-1]) + f".*{others[-1]}"


class SubjectKind(Enum):
    """The kind of thing that a name from an identity provider denotes."""

    USER = "user"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Subject:
    """A user by its `sub`, or a group; printed as `user:ana` and `group:etl`."""

    kind: SubjectKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.name}"


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
        return f"{body}_{zlib.crc32(body.encode()):08x}"

    def digest(self) -> str:
        """Return the SHA-256 of the text in hex; the store keeps nothing else of a token."""
        # A salt or a slow hash is not needed: 256 random bits cannot be guessed from their hash.
        return hashlib.sha256(self.text().encode()).hexdigest()


def new_token() -> AccessToken:
    """Return a token with a random id and a random secret."""
    return AccessToken(secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES))


def parse_token(text: str) -> AccessToken:
    """Return the token of a text. Raises ValueError, without quoting it, for a wrong form or checksum."""
    match = TOKEN.fullmatch(text)
    if match is None:
        raise ValueError("is not of the form of a token: fll_, an id, a secret and a checksum")
    token = AccessToken(match[1], match[2])
    if token.text() != text:
        raise ValueError("has a wrong checksum: mistyped, or cut off")
    return token
