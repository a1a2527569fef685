"""The Flask app: all routes over one store, with its settings."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from flask import Flask

from api import exporter, responses
from api.activity import ActivityMiddleware, RecentActivity
from api.activity_ring import ActivityRing
from api.allowed_hosts import register_host_check
from api.audit import AuditLog, register_question_hook
from api.authentication import Authentication, create_verifiers
from api.budget import RequestBudget
from api.cross_origin import with_cross_origin
from api.direct_routes import DirectRoutes
from api.http.observer import RequestObserver
from api.log_file import open_log
from api.openapi import answers, documents
from api.openapi import datahub as datahub_shapes
from api.openapi import pipelines as pipeline_shapes
from api.openapi import question_batch as question_shapes
from api.openapi import tags as tag_shapes
from api.openapi.described_api import DescribedApi
from api.path_params import (
    ChecksumConverter,
    FieldConverter,
    NameConverter,
    NamespaceConverter,
    PolicyConverter,
    RawPath,
    RunConverter,
    TagConverter,
    UrnConverter,
)
from api.proxies import behind_proxies
from api.readiness import Readiness
from api.request_limits import with_limits
from api.routes import (
    activity,
    ancestor,
    changes,
    datahub,
    documentation,
    health,
    namespace_runs,
    openlineage,
    page,
    policies,
    questions,
    reach,
    recording,
    reports,
    retention_requests,
    tags,
)
from api.views import Views
from fll_hbase.config import Settings
from fll_hbase.ingest import DocumentReader
from fll_hbase.sources import name_rules
from fll_hbase.sources.datahub import AspectCounters
from fll_hbase.store.lineage_store import LineageStore

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_VERSION = version("fll-hbase")
_CONVERTERS = {
    "namespace": NamespaceConverter,
    "name": NameConverter,
    "field": FieldConverter,
    "run": RunConverter,
    "checksum": ChecksumConverter,
    "tag": TagConverter,
    "policy": PolicyConverter,
    "urn": UrnConverter,
}
_BLUEPRINTS = (
    *recording.BLUEPRINTS,
    openlineage.blueprint,
    datahub.blueprint,
    questions.blueprint,  # with the routes of lineage
    reach.blueprint,
    changes.blueprint,
    reports.blueprint,
    namespace_runs.blueprint,  # with the routes of the catalogue and of datasets' runs
    tags.blueprint,
    policies.blueprint,
    retention_requests.blueprint,
    activity.blueprint,
    ancestor.blueprint,
    health.blueprint,
)
_COMPONENTS = {
    name: schema
    for shapes in (documents, answers, datahub_shapes, pipeline_shapes, tag_shapes, question_shapes)
    for name, schema in shapes.COMPONENTS.items()
}


def create_app(store: LineageStore, settings: Settings | None = None) -> Flask:
    """Create a WSGI app over an open store; the caller closes the store.

    The server must pass the raw path as RAW_URI or REQUEST_URI, as `fll serve` does. Raises
    ConfigurationError for name rules that cannot be parsed and logs that cannot be opened.
    """
    settings = settings or Settings()
    # With a static folder Flask adds a route of its own, which the OpenAPI document would lack.
    app = Flask(__name__, static_folder=None)
    # `//` is an empty name, which is a 400; werkzeug would redirect to a path without that segment.
    app.url_map.merge_slashes = False
    for name, converter in _CONVERTERS.items():
        app.url_map.converters[name] = converter
    app.config.update(
        API_TITLE="Field lineage",
        API_VERSION=_VERSION,
        OPENAPI_VERSION="3.1.0",
        FLL_RETRY_AFTER_SECONDS=settings.retry_after_seconds,
    )
    rules = name_rules.parse_rules(settings.name_rules)
    views = Views(
        store,
        # One for all requests and threads of a view: it caches parsed operations by their bytes (decision 5).
        lambda view: DocumentReader(columns=view.catalogue.field_names, name_rules=rules),
    )
    app.extensions |= {
        "fll-views": views,
        "fll-readiness": Readiness(store.ready),
        "fll-settings": settings,
        "fll-datahub-counts": AspectCounters(),
        "fll-activity": RecentActivity(ActivityRing(exporter.process_directory())),
        "fll-observer": _create_observer(store, settings),
    }
    exporter.connect()
    responses.register_response_hooks(app)
    if settings.audit_log:
        register_question_hook(app)
    register_host_check(app, settings)
    app.extensions["fll-api"] = _create_api(app)
    app.register_blueprint(documentation.blueprint)
    app.register_blueprint(page.blueprint)
    # Outside of Flask, since routes are matched before the first hook of Flask runs (decision 9).
    direct = DirectRoutes(RawPath(app.wsgi_app), views, settings)
    app.wsgi_app = _with_middleware(direct, app, store)  # type: ignore[assignment, method-assign]
    return app


def _with_middleware(direct: WSGIApplication, flask_app: Flask, store: LineageStore) -> WSGIApplication:
    """Return the app behind what its settings turn on; the first that a request meets is the last here."""
    settings: Settings = flask_app.extensions["fll-settings"]
    app = with_limits(ActivityMiddleware(direct, flask_app.extensions["fll-activity"]), settings)
    verifiers = create_verifiers(store.access, settings)
    if verifiers:
        app = Authentication(app, verifiers, retry_after_seconds=settings.retry_after_seconds)
    # Outside of authentication, whose wait on the store it bounds.
    app = RequestBudget(app, seconds=settings.request_seconds)
    return behind_proxies(with_cross_origin(app, settings), settings.proxies)


def _create_observer(store: LineageStore, settings: Settings) -> RequestObserver:
    audit = open_log(settings.audit_log, setting="FLL_AUDIT_LOG")
    return RequestObserver(
        access=open_log(settings.access_log, setting="FLL_ACCESS_LOG"),
        audit=AuditLog(audit, store.tags) if audit else None,
    )


def _create_api(app: Flask) -> DescribedApi:
    api = DescribedApi(app, components=_COMPONENTS)
    for converter in _CONVERTERS.values():
        # The default argument binds this converter; a closure would see the last one.
        api.register_converter(converter, lambda _, converter=converter: converter.schema())
    for blueprint in _BLUEPRINTS:
        api.register_blueprint(blueprint)
    return api
