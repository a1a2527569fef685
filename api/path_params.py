"""Path parameters: names of any characters, one percent-encoded segment each.

`a/b`, `a%2Fb` and `a%252Fb` are three names, but WSGI servers pass the path decoded, where `%2F` is lost.
The raw path is put in its place, and each name is decoded by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urlsplit

from werkzeug.routing import BaseConverter

from api.problems import InvalidName
from fll_hbase.errors import FieldError
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class RawPath:
    """WSGI middleware that makes PATH_INFO the path as the client sent it."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["PATH_INFO"] = _raw_path(environ)
        return self._app(environ, start_response)


def _raw_path(environ: WSGIEnvironment) -> str:
    uri = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if uri is None:
        raise RuntimeError(
            "this WSGI server provides neither RAW_URI nor REQUEST_URI, so a name with `/` is ambiguous; "
            "serve with gunicorn, as `fll serve` does"
        )
    path = uri if uri.startswith("/") else urlsplit(uri).path
    mount_point = environ.get("SCRIPT_NAME", "")
    path = path.partition("?")[0].partition("#")[0].removeprefix(mount_point)
    return quote(path.encode("latin-1", "replace"), safe="/%:@!$&'()*+,;=-._~")


def decode_percent(text: str) -> str:
    """Decode percent-encoded UTF-8. Raises ValueError for broken escapes and for bytes that are not UTF-8."""
    if _BROKEN_ESCAPE.search(text):
        raise ValueError("a `%` must be followed by two hex digits")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8") from error


class NameConverter(BaseConverter):
    """One path segment that is a name of any characters, of at most `bytes_max` bytes as UTF-8."""

    regex = "[^/]*"
    label = "name"
    bytes_max = NAME_BYTES_MAX

    def to_python(self, value: str) -> str:
        """Decode a segment. Raises InvalidName."""
        try:
            name = decode_percent(value)
        except ValueError as error:
            raise InvalidName([FieldError(self.label, str(error))]) from error
        if not name:
            raise InvalidName([FieldError(self.label, "must not be empty")])
        if len(name.encode()) > self.bytes_max:
            raise InvalidName([FieldError(self.label, f"is longer than {self.bytes_max} bytes")])
        return name

    def to_url(self, value: str) -> str:
        """Encode a name as one segment."""
        return quote(value, safe="")


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


class UrnConverter(NameConverter):
    """The rest of a path as a urn; DataHub's clients do not encode the `/` in it."""

    regex = ".*"
    part_isolating = False
    label = "urn"
