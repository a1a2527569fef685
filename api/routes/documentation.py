"""The OpenAPI document and Swagger UI."""

from __future__ import annotations

from importlib.resources import files

from flask import Blueprint, Response, current_app, redirect, send_from_directory
from werkzeug.wrappers import Response as AnyResponse

from api import responses

blueprint = Blueprint("documentation", __name__)

_DIST = str(files("flask_swagger_ui") / "dist")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><title>Field lineage: the API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START = 'SwaggerUIBundle({url: "/openapi.json", dom_id: "#ui", docExpansion: "list", deepLinking: true});\n'


@blueprint.route("/")
def root() -> AnyResponse:
    """Redirect to the documentation page."""
    return redirect("/docs")


@blueprint.route("/openapi.json")
def openapi() -> Response:
    """The OpenAPI document."""
    return responses.json_response(current_app.extensions["fll-api"].spec.to_dict())


@blueprint.route("/docs")
def page() -> Response:
    """The documentation page."""
    return Response(_PAGE, mimetype="text/html")


@blueprint.route("/docs/start.js")
def start() -> Response:
    """The script that starts Swagger UI."""
    return Response(_START, mimetype="text/javascript")


@blueprint.route("/docs/<path:name>")
def asset(name: str) -> Response:
    """A file of Swagger UI."""
    return send_from_directory(_DIST, name)
