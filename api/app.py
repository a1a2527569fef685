"""The app: every route over one store, with its settings."""

from __future__ import annotations

from importlib.metadata import version

import flask_smorest
from flask import Flask

from api import problems, responses
from api.openapi import datahub as datahub_shapes
from api.openapi import pipelines as pipeline_shapes
from api.openapi import sql as sql_shapes
from api.openapi.schemas import NAMED, ProblemSchema
from api.path_params import (
    FieldConverter,
    NameConverter,
    NamespaceConverter,
    RawPath,
    RunConverter,
    UrnConverter,
)
from api.routes import (
    catalogue,
    datahub,
    documentation,
    health,
    lineage,
    openlineage,
    pipelines,
    recording,
    sql,
)
from fll_hbase.config import Settings
from fll_hbase.sources import name_rules
from fll_hbase.sources.datahub import Counts
from fll_hbase.sources.native.cached_reader import DocumentReader
from fll_hbase.store.lineage_store import LineageStore

_CONVERTERS = {
    "namespace": NamespaceConverter,
    "name": NameConverter,
    "field": FieldConverter,
    "run": RunConverter,
    "urn": UrnConverter,
}
_ROUTES = (recording, sql, pipelines, openlineage, datahub, lineage, catalogue, health)


class _Api(flask_smorest.Api):  # type: ignore[misc]
    """The OpenAPI document; errors are told by `problems`."""

    ERROR_SCHEMA = ProblemSchema
    DEFAULT_ERROR_RESPONSE_NAME = None

    def _register_error_handlers(self) -> None:
        problems.register(self._app)


def create_app(store: LineageStore, settings: Settings | None = None) -> Flask:
    """A WSGI app over an open store. The server must give the raw path; `fll serve` does."""
    settings = settings or Settings()
    app = Flask(__name__, static_folder=None)
    app.url_map.merge_slashes = False
    for name, converter in _CONVERTERS.items():
        app.url_map.converters[name] = converter
    app.config.update(
        API_TITLE="Field lineage",
        API_VERSION=version("fll-hbase"),
        OPENAPI_VERSION="3.1.0",
        FLL_RETRY_AFTER_SECONDS=settings.retry_after_seconds,
    )
    app.extensions |= {"fll-store": store, "fll-settings": settings, "fll-reader": DocumentReader()}
    app.extensions["fll-datahub-counts"] = Counts()
    app.extensions["fll-name-rules"] = name_rules.parsed(settings.name_rules)
    responses.register(app)
    app.extensions["fll-api"] = _api(app)
    app.register_blueprint(documentation.blueprint)
    app.wsgi_app = RawPath(app.wsgi_app)  # type: ignore[method-assign]
    return app


def _api(app: Flask) -> _Api:
    api = _Api(app)
    for converter in _CONVERTERS.values():
        limit = converter.bytes_max
        api.register_converter(converter, lambda _, limit=limit: _name(limit))
    for name, schema in {
        **NAMED,
        **datahub_shapes.NAMED,
        **pipeline_shapes.NAMED,
        **sql_shapes.NAMED,
    }.items():
        api.spec.components.schema(name, schema=schema)
    for routes in _ROUTES:
        api.register_blueprint(routes.blueprint)
    return api


def _name(bytes_max: int) -> dict[str, object]:
    return {"type": "string", "minLength": 1, "maxLength": bytes_max}
