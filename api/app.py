"""The Flask app: all routes over one store, with its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from flask import Flask

from fll_hbase.ingest.registry import import_sources
from fll_hbase.queries.impact.change_impact import ImpactRequest
from fll_hbase.queries.policies import PolicyBody
from fll_hbase.queries.query_batch import Batch
from fll_hbase.queries.tags import TagBody
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.release import VERSION
from fll_hbase.sources import name_rules
from fll_hbase.sources.datahub import AspectCounters
from fll_hbase.store.lineage_store import LineageStore

from .direct_routes import DirectRoutes
from .observability import exporter
from .observability.logs import open_log
from .observability.observer import AuditLog, RequestObserver, register_query_hook
from .observability.recent_activity import ActivityMiddleware, ActivityRing, RecentActivity
from .openapi import answer_schemas, datahub_schemas, document_schemas
from .openapi.completion import DescribedApi
from .routes import (
    activity,
    assistants,
    datahub,
    health,
    openlineage,
    page,
    policies,
    query_groups,
    questions,
    recording,
    retention_requests,
    tags,
)
from .routes.health import Readiness
from .security.authentication import with_authentication, with_metrics_token
from .security.hosts import register_host_check, with_cross_origin
from .security.limits import Turns, with_limits
from .security.rights import Views
from .wire import problems, responses
from .wire.bodies import LargeBodies
from .wire.budget import RequestBudget
from .wire.environ import METRICS_PATH, behind_proxies
from .wire.paths import CONVERTERS, RawPath

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

Layer: TypeAlias = "Callable[[WSGIApplication], WSGIApplication]"
"""A function that wraps an app in another one, or returns the app itself if its settings turn it off."""

_BLUEPRINTS = (
    *recording.BLUEPRINTS,
    openlineage.blueprint,
    datahub.blueprint,
    questions.blueprint,  # with the routes of lineage
    query_groups.REACH,
    query_groups.CHANGES,
    query_groups.REPORTS,
    query_groups.CATALOGUE,
    tags.blueprint,
    policies.blueprint,
    retention_requests.blueprint,
    activity.blueprint,
    query_groups.CDAP,
    health.blueprint,
)
_COMPONENTS: tuple[type[msgspec.Struct], ...] = (
    *document_schemas.COMPONENTS,
    *answer_schemas.COMPONENTS,
    *datahub_schemas.COMPONENTS,
    *document_schemas.PIPELINE_COMPONENTS,
    Batch,
    ImpactRequest,
    TagBody,
    PolicyBody,
)


def create_app(store: LineageStore, settings: Settings | None = None) -> Flask:
    """Create a WSGI app over an open store, by default with the defaults of all settings.

    The caller closes the store. The server must pass the raw path as RAW_URI or REQUEST_URI, as `fll serve`
    does. Raises ConfigurationError for invalid settings and for logs that cannot be opened.
    """
    settings = settings or Settings()
    import_sources()
    # For a static folder Flask would add a route of its own, which is not in the OpenAPI document.
    app = Flask(__name__, static_folder=None)
    # `//` is an empty name, which is a 400; werkzeug would redirect to a path without that segment.
    app.url_map.merge_slashes = False
    app.url_map.converters |= CONVERTERS
    app.config.update(
        API_TITLE="Field lineage",
        API_VERSION=VERSION,
        OPENAPI_VERSION="3.1.0",
        FLL_RETRY_AFTER_SECONDS=settings.retry_after_seconds,
    )
    views = Views(store, name_rules.parse_rules(settings.name_rules, settings.namespace_rules))
    audit = open_log(settings.audit_log, setting="FLL_AUDIT_LOG")
    app.extensions |= {
        "fll-views": views,
        "fll-readiness": Readiness(store.ready),
        "fll-settings": settings,
        "fll-turns": Turns(),
        "fll-datahub-counts": AspectCounters(),
        "fll-activity": RecentActivity(ActivityRing(exporter.process_directory())),
        "fll-observer": RequestObserver(
            access=open_log(settings.access_log, setting="FLL_ACCESS_LOG"),
            audit=AuditLog(audit, store.tags) if audit else None,
        ),
    }
    exporter.connect()
    responses.register_response_hooks(app)
    if audit:
        register_query_hook(app)
    register_host_check(app, settings)
    app.extensions["fll-api"] = _create_api(app)
    for blueprint in (page.blueprint, assistants.blueprint):
        app.register_blueprint(blueprint)
    for layer in reversed(_layers(app, store, views)):
        app.wsgi_app = layer(app.wsgi_app)  # type: ignore[assignment, method-assign]
    return app


def create_metrics_app(settings: Settings) -> WSGIApplication:
    """Create the app of the metrics listener: only `/metrics`, for anyone who reaches FLL_METRICS_HOST.

    If FLL_METRICS_TOKEN is set, the app requires that token. Raises ConfigurationError (FLL_CORS_ORIGINS).
    """
    app = Flask(__name__, static_folder=None)
    app.config["FLL_RETRY_AFTER_SECONDS"] = settings.retry_after_seconds
    responses.register_response_hooks(app)
    problems.register_error_handlers(app)
    register_host_check(app, replace(settings, host=settings.metrics_host))
    app.add_url_rule(METRICS_PATH, view_func=health.exposition)
    return with_metrics_token(app.wsgi_app, settings)


def _layers(app: Flask, store: LineageStore, views: Views) -> Sequence[Layer]:
    """Return functions that each wrap an app in one layer of middleware, the outermost layer first."""
    settings: Settings = app.extensions["fll-settings"]
    return (
        lambda inner: behind_proxies(inner, settings.proxies),
        lambda inner: with_cross_origin(inner, settings),
        # Outside of authentication, because it bounds the wait of authentication for the store.
        lambda inner: RequestBudget(inner, seconds=settings.request_seconds),
        lambda inner: with_authentication(inner, store.access, settings),
        lambda inner: with_limits(inner, settings),
        lambda inner: ActivityMiddleware(inner, app.extensions["fll-activity"]),
        # Inside RequestBudget, because waiting for room takes time of the request.
        lambda inner: LargeBodies(inner, settings),
        lambda inner: DirectRoutes(inner, views, settings),
        # Outside of Flask, since routes are matched before the first hook of Flask runs (decision 9).
        RawPath,
    )


def _create_api(app: Flask) -> DescribedApi:
    """Register the converters of path parameters and all blueprints on the app; return its described API."""
    api = DescribedApi(app, components=_COMPONENTS)
    for converter in CONVERTERS.values():
        # The default argument binds this converter, while a closure would see the last one.
        api.register_converter(converter, lambda _, converter=converter: converter.schema())
    for blueprint in _BLUEPRINTS:
        api.register_blueprint(blueprint)
    return api
