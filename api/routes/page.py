"""The web page, built from `page/` into `api/page/`; the OpenAPI document, and Swagger UI to try it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, current_app, send_from_directory

from ..wire import responses
from ..wire.query_params import NoParams, QueryParser

# Flask's own class: these routes are not part of the OpenAPI document.
blueprint = Blueprint("documentation", __name__)

_PARSER = QueryParser()

# Served from here, so that the page needs no other server. OpenAPI 3.1 needs Swagger UI 5 or later.
_DIST = str(files("flask_swagger_ui") / "dist")

# Relative addresses, because a proxy may serve everything behind a path prefix.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><title>Field lineage: the API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" href="docs/favicon-32x32.png">
</head>
<body>
<div id="ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
# Inline styles are allowed because Swagger UI sets styles of its elements.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_START = 'SwaggerUIBundle({url: "openapi.json", dom_id: "#ui", docExpansion: "list", deepLinking: true});\n'


@blueprint.route("/openapi.json")
@_PARSER.use_args(NoParams(), location="query")
def openapi(_: dict[str, Any]) -> Response:
    """Return the OpenAPI document."""
    return responses.json_response(current_app.extensions["fll-api"].document())


@blueprint.route("/docs")
@_PARSER.use_args(NoParams(), location="query")
def page(_: dict[str, Any]) -> Response:
    """Return the documentation page."""
    return Response(_PAGE, mimetype="text/html", headers={responses.CONTENT_SECURITY_POLICY: _POLICY})


@blueprint.route("/docs/start.js")
def start() -> Response:
    """Return the script that starts Swagger UI."""
    return Response(_START, mimetype="text/javascript")


@blueprint.route("/docs/<path:name>")
def asset(name: str) -> Response:
    """Return a file of Swagger UI, or a 404 if no file has that name."""
    return send_from_directory(_DIST, name)


_PAGE_HEADERS = {
    responses.CONTENT_SECURITY_POLICY: (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    # The names of the files never change, so browsers revalidate them by their entity tags.
    "Cache-Control": "no-cache",
}
_PAGE_FILES = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    # The screens that the page loads when they are first opened.
    "/details.js": ("details.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
"""Name and type of the file at each path."""


def _add_file(path: str, name: str, mimetype: str) -> None:
    """Add the route of a file, read now; any query is accepted, as the page parses it. Raises OSError."""
    content = (Path(__file__).parents[1] / "page" / name).read_bytes()
    blueprint.add_url_rule(
        path, name.replace(".", "-"), lambda: Response(content, mimetype=mimetype, headers=_PAGE_HEADERS)
    )


for _path, _file in _PAGE_FILES.items():
    _add_file(_path, *_file)
