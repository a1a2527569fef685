"""Path parameters: names of any characters, one percent-encoded segment each.

Routes match the path as the client sent it, and converters decode one segment each. WSGI servers pass the
path decoded, which makes `a%2Fb` and `a/b` the same (decision 9).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urlsplit

from werkzeug.routing import BaseConverter

from fll_hbase.runtime.errors import FieldError
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

from .problems import InvalidName

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# urllib keeps a broken escape as text, so that `%zz` and `%25zz` would be the same name.
_CHECKSUM = re.compile("[0-9a-f]{32}", re.ASCII)
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class RawPath:
    """WSGI middleware that replaces PATH_INFO with the path as the client sent it, percent-encoded."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Replace PATH_INFO in the environment and call the app."""
        environ["PATH_INFO"] = raw_path(environ)
        return self._app(environ, start_response)


def raw_uri(environ: WSGIEnvironment) -> str:
    """Return the target of the request as the client sent it, or "" if the WSGI server does not pass it."""
    # gunicorn sets one of the names, waitress the other.
    uri: str = environ.get("RAW_URI") or environ.get("REQUEST_URI", "")
    return uri


def raw_path(environ: WSGIEnvironment) -> str:
    """Return the path below the mount point as the client sent it, with characters beyond ASCII escaped.

    Raises RuntimeError under a WSGI server that does not pass the raw path.
    """
    uri = raw_uri(environ)
    if not uri:
        raise RuntimeError(
            "this WSGI server provides neither RAW_URI nor REQUEST_URI, so a name with `/` is ambiguous; "
            "serve with `fll serve`"
        )
    # A proxy may send an absolute URI (RFC 9112, 3.2.2). In `//a`, urlsplit would take `a` for the host.
    path = uri if uri.startswith("/") else urlsplit(uri).path
    # The raw URI includes the mount point, PATH_INFO does not (PEP 3333).
    mount_point = environ.get("SCRIPT_NAME", "")
    path = path.partition("?")[0].partition("#")[0].removeprefix(mount_point)
    # WSGI strings are bytes as latin-1. Escapes stay as sent (`%` is safe), raw bytes become escapes.
    return quote(path.encode("latin-1", "replace"), safe="/%:@!$&'()*+,;=-._~")


def decode_percent(text: str) -> str:
    """Return the text of percent-encoded UTF-8. Raises ValueError for broken escapes and invalid UTF-8."""
    if _BROKEN_ESCAPE.search(text):
        raise ValueError("a `%` must be followed by two hex digits")
    try:
        # unquote() would replace invalid bytes with U+FFFD, which would make different names equal.
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8") from error


class NameConverter(BaseConverter):
    """A path segment that is a name of any characters, 1 to `bytes_max` bytes long as UTF-8."""

    # With werkzeug's `[^/]+` an empty name would be a 404 instead of a 400 with the reason.
    regex = "[^/]*"
    label = "name"
    bytes_max = NAME_BYTES_MAX

    @classmethod
    def schema(cls) -> dict[str, object]:
        """Return the schema of the parameter in the OpenAPI document."""
        return {"type": "string", "minLength": 1, "maxLength": cls.bytes_max}

    def to_python(self, value: str) -> str:
        """Return the name in a segment. Raises InvalidName if it is empty, too long or cannot be decoded."""
        return self.decode(value)

    @classmethod
    def decode(cls, segment: str) -> str:
        """Return the name in a segment. Raises InvalidName if it is empty, too long or cannot be decoded."""
        try:
            name = decode_percent(segment)
        except ValueError as error:
            raise InvalidName([FieldError(cls.label, str(error))]) from error
        if not name:
            raise InvalidName([FieldError(cls.label, "must not be empty")])
        if len(name.encode()) > cls.bytes_max:
            raise InvalidName([FieldError(cls.label, f"is longer than {cls.bytes_max} bytes")])
        return name


class NamespaceConverter(NameConverter):
    """The path segment of a namespace."""

    label = "namespace"
    bytes_max = ID_BYTES_MAX


class RunConverter(NameConverter):
    """The path segment of a run's id."""

    label = "run"
    bytes_max = ID_BYTES_MAX


class FieldConverter(NameConverter):
    """The path segment of a field."""

    label = "field"


class TagConverter(NameConverter):
    """The path segment of a tag."""

    label = "tag"
    bytes_max = ID_BYTES_MAX


class PolicyConverter(NameConverter):
    """The path segment of a policy."""

    label = "policy"
    bytes_max = ID_BYTES_MAX


class ChecksumConverter(NameConverter):
    """The path segment of a checksum."""

    label = "checksum"

    @classmethod
    def schema(cls) -> dict[str, object]:
        """Return the schema of a checksum."""
        return {"type": "string", "pattern": f"^{_CHECKSUM.pattern}$"}

    def to_python(self, value: str) -> str:
        """Return the checksum in a segment. Raises InvalidName for any other text."""
        checksum = super().to_python(value)
        if not _CHECKSUM.fullmatch(checksum):
            detail = f"{checksum[:100]!r} is not a checksum: 32 hex digits, 0-9 and a-f"
            raise InvalidName([FieldError(self.label, detail)])
        return checksum


class UrnConverter(NameConverter):
    """The rest of a path as a urn."""

    # DataHub's clients do not encode the `/` in a urn, and werkzeug matches segment by segment unless
    # `part_isolating` is off, which it infers only from a `/` in the regex.
    regex = ".*"
    part_isolating = False
    label = "urn"


CONVERTERS = {
    converter.label: converter
    for converter in (
        NamespaceConverter,
        NameConverter,
        FieldConverter,
        RunConverter,
        ChecksumConverter,
        TagConverter,
        PolicyConverter,
        UrnConverter,
    )
}
"""Converters by the names that rules of routes have for them."""
