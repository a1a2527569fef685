"""The web page: an HTML file, two scripts and a style sheet, built from `page/` into `api/page/`."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Response

# Flask's own class: these routes are not part of the OpenAPI document.
blueprint = Blueprint("page", __name__)

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # The names of the files never change: a browser asks by their entity tags.
    "Cache-Control": "no-cache",
}
_FILES = Path(__file__).parents[1] / "page"
_HTML = (_FILES / "index.html").read_bytes()
_SCRIPT = (_FILES / "page.js").read_bytes()
_DETAILS = (_FILES / "details.js").read_bytes()
_STYLE = (_FILES / "page.css").read_bytes()


@blueprint.route("/")
def html() -> Response:
    """Return the page. It parses its query itself, so none is refused."""
    return _file(_HTML, "text/html")


@blueprint.route("/page.js")
def script() -> Response:
    """Return the script of the page."""
    return _file(_SCRIPT, "text/javascript")


@blueprint.route("/details.js")
def details() -> Response:
    """Return the script of the screens that the page loads when they are first opened."""
    return _file(_DETAILS, "text/javascript")


@blueprint.route("/page.css")
def style() -> Response:
    """Return the style sheet of the page."""
    return _file(_STYLE, "text/css")


def _file(content: bytes, mimetype: str) -> Response:
    return Response(content, mimetype=mimetype, headers=HEADERS)
