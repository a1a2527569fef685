"""Which names does a path hold: `a/b`, `a%2Fb` and `a%252Fb` are three, whatever the server decodes.

WSGI servers hand over the path decoded, when `%2F` is lost. The raw path is put back in its place, and each
name is decoded alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urlsplit

from werkzeug.routing import BaseConverter

from api.problems import BadName
from fll_hbase.errors import FieldError
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class RawPath:
    """WSGI middleware: the path as the client sent it."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["PATH_INFO"] = _path(environ)
        return self._app(environ, start_response)


def _path(environ: WSGIEnvironment) -> str:
    raw = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if raw is None:
        raise RuntimeError(
            "this WSGI server gives neither RAW_URI nor REQUEST_URI, so names with `/` cannot be told; "
            "serve with gunicorn, as `fll serve` does"
        )
    path = raw if raw.startswith("/") else urlsplit(raw).path
    mounted = environ.get("SCRIPT_NAME", "")
    path = path.partition("?")[0].partition("#")[0].removeprefix(mounted)
    return quote(path.encode("latin-1", "replace"), safe="/%:@!$&'()*+,;=-._~")


def decoded(text: str) -> str:
    """Percent-decoded UTF-8. Raises ValueError for broken escapes and for bytes that are not UTF-8."""
    if _BROKEN_ESCAPE.search(text):
        raise ValueError("a `%` must be followed by two hex digits")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8") from error


class NameConverter(BaseConverter):
    """One path segment that is a name of any characters."""

    regex = "[^/]*"
    what = "name"
    bytes_max = NAME_BYTES_MAX

    def to_python(self, value: str) -> str:
        try:
            name = decoded(value)
        except ValueError as error:
            raise BadName([FieldError(self.what, str(error))]) from error
        if not name:
            raise BadName([FieldError(self.what, "must not be empty")])
        if len(name.encode()) > self.bytes_max:
            raise BadName([FieldError(self.what, f"is longer than {self.bytes_max} bytes")])
        return name

    def to_url(self, value: str) -> str:
        return quote(value, safe="")


class NamespaceConverter(NameConverter):
    """The path segment of a namespace."""

    what = "namespace"
    bytes_max = ID_BYTES_MAX


class RunConverter(NameConverter):
    """The path segment of a run."""

    what = "run"
    bytes_max = ID_BYTES_MAX


class FieldConverter(NameConverter):
    """The path segment of a field."""

    what = "field"


class UrnConverter(NameConverter):
    """All the rest of a path, which is a urn; `/` stands in it as it is, as DataHub's clients send it."""

    regex = ".*"
    part_isolating = False
    what = "urn"
