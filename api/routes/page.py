"""The web page: an HTML file, two scripts and a style sheet, built from `page/` into `api/page/`."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Response

from ..wire.responses import CONTENT_SECURITY_POLICY

# Flask's own class: these routes are not part of the OpenAPI document.
blueprint = Blueprint("page", __name__)

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    CONTENT_SECURITY_POLICY: _POLICY,
    # The names of the files never change, so browsers revalidate them by their entity tags.
    "Cache-Control": "no-cache",
}
_FOLDER = Path(__file__).parents[1] / "page"
_FILES = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    # The screens that the page loads when they are first opened.
    "/details.js": ("details.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
"""Name and type of the file at each path."""


def _add_file(path: str, name: str, mimetype: str) -> None:
    """Add the route of a file, which is read once. It accepts any query, since the page parses its own."""
    content = (_FOLDER / name).read_bytes()
    blueprint.add_url_rule(
        path, name.replace(".", "-"), lambda: Response(content, mimetype=mimetype, headers=HEADERS)
    )


for _path, (_name, _mimetype) in _FILES.items():
    _add_file(_path, _name, _mimetype)
