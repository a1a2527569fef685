"""The OpenAPI document, which is built on demand: parts common to all routes are added to those of each.

Operation ids, examples, headers of answers, descriptions of common parameters, an introduction, and the order
of the groups, questions before recording.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import flask_smorest
from flask import Flask
from msgspec import Struct

from fll_hbase.runtime.json_types import Json

from ..wire import problems
from . import examples
from .answer_schemas import Problem
from .query_schemas import body_schema, schema_name

INTRODUCTION = """\
Field-level lineage: who made each field, from what, by which operations and in which runs, in exactly the
window of the question.

**Start.** `GET /v3/search?q=uid` finds datasets and fields by a part of their name. `GET
/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/lineage` returns the operations that made a field.
`POST /v3/namespaces/{namespace}/lineage` records a run. The examples use the sample, which `fll sample`
loads, and documents to record.

**Windows** are `start` (included) to `end` (excluded), the last 30 days by default. A truncated answer says
so: `truncated` and `truncatedBy`, or the headers `Truncated` and `Truncated-By`. Lists continue at the
`Link` with `rel="next"`. Errors are problems of RFC 9457.
"""

TAGS_FIRST = ("questions", "reach", "changes", "reports", "catalogue", "tags", "policies", "cdap")
"""Groups of query routes in the order of the page. The others follow in the order of registration."""

_FIELD = "get /v3/namespaces/{namespace}/endpoints/{name}/fields/{field}"
_CDAP = "get /v3/namespaces/{namespace}/datasets/{name}/lineage"

OPERATION_IDS = {
    "get /v3/namespaces/{namespace}/endpoints/{name}/fields/lineage": "get_dataset_lineage",
    "get /v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/lineage": "get_field_lineage",
    "get /v3/namespaces/{namespace}/datasets/{name}/fields/{field}/lineage": "get_field_derivations",
    "post /v3/questions": "ask_questions",
    "post /v3/impact": "get_impact",
    "get /v3/namespaces": "list_namespaces",
    "get /v3/namespaces/{namespace}/endpoints": "list_datasets",
    "get /v3/namespaces/{namespace}/endpoints/{name}/fields": "list_fields",
    "get /v3/search": "search_names",
    "get /v3/namespaces/{namespace}/endpoints/{name}/runs": "list_runs",
    "get /v3/namespaces/{namespace}/endpoints/{name}/runs/counts": "count_runs",
    "get /v3/namespaces/{namespace}/endpoints/{name}/programs": "list_programs",
    "get /v3/namespaces/{namespace}/endpoints/{name}/openlineage": "list_openlineage_events",
    f"{_FIELD}/reach": "get_field_reach",
    "get /v3/namespaces/{namespace}/endpoints/{name}/diff": "get_dataset_diff",
    f"{_FIELD}/history": "get_field_history",
    f"{_FIELD}/diff": "get_field_diff",
    f"{_FIELD}/tags": "list_field_tags",
    f"{_FIELD}/tags/{{tag}}": "get_field_tag",
    f"{_FIELD.replace('get', 'put')}/tags/{{tag}}": "put_field_tag",
    f"{_FIELD.replace('get', 'delete')}/tags/{{tag}}": "delete_field_tag",
    "get /v3/namespaces/{namespace}/endpoints/{name}": "get_dataset",
    "get /v3/namespaces/{namespace}/endpoints/{name}/tags": "list_dataset_tags",
    "get /v3/tags": "list_tags",
    "get /v3/tags/{tag}": "list_tagged_fields",
    "get /v3/policies": "list_policies",
    "get /v3/policies/{policy}": "get_policy",
    "put /v3/policies/{policy}": "put_policy",
    "delete /v3/policies/{policy}": "delete_policy",
    "get /v3/namespaces/{namespace}/runs": "list_namespace_runs",
    "get /v3/namespaces/{namespace}/runs/{run}": "get_namespace_run",
    "get /v3/namespaces/{namespace}/openlineage": "list_namespace_openlineage_events",
    "get /v3/runs": "list_all_runs",
    "get /v3/openlineage": "list_all_openlineage_events",
    "get /v3/reports/consumption": "get_consumption_report",
    "get /v3/reports/provenance": "get_provenance_report",
    "get /v3/reports/retention": "get_retention_report",
    "get /v3/runs/{run}": "get_run",
    "get /v3/contents/{checksum}": "get_content",
    f"{_CDAP}/fields": "list_cdap_fields",
    f"{_CDAP}/fields/{{field}}": "get_cdap_field_summary",
    f"{_CDAP}/fields/{{field}}/operations": "get_cdap_operations",
    f"{_CDAP}/allfieldlineage": "get_cdap_dataset_summary",
    "post /v3/namespaces/{namespace}/lineage": "record_run",
    "post /v3/namespaces/{namespace}/lineage/batch": "record_runs",
    "post /v3/namespaces/{namespace}/sql": "record_sql",
    "post /v3/namespaces/{namespace}/pipelines": "record_pipeline",
    "post /v3/namespaces/{namespace}/dbt": "record_dbt",
    "post /": "explain_paths",
    "post /api/v1/lineage": "record_openlineage_event",
    "post /api/v1/lineage/batch": "record_openlineage_events",
    "get /config": "get_datahub_config",
    "post /aspects": "record_datahub_proposals",
    "post /entities": "record_datahub_snapshots",
    "post /openapi/v3/entity/{entity}": "record_datahub_entities",
    "patch /openapi/v3/entity/{entity}": "patch_datahub_entities",
    "delete /openapi/v3/entity/{entity}/{urn}": "delete_datahub_entity",
    "get /aspects/{urn}": "get_datahub_aspect",
    "get /healthz": "check_health",
    "get /readyz": "check_readiness",
}
"""Names of functions in generated clients, by method and path. Published names must not change."""

_PATH_PARAMETERS = {
    "namespace": "Namespace of a dataset, or of a program where it records",
    "name": "Name of a dataset, percent-encoded: `s3:%2F%2Fbucket%2Fa`",
    "field": "Name of a field, or the full path of a nested field: `employees%2Fname`",
    "run": "Id of a run. The example is the run that `POST …/lineage` records",
    "checksum": "Checksum of a content: 32 hex digits",
    "tag": "Name of a tag, such as `PII`",
    "policy": "Name of a policy",
    "entity": "Type of the entities",
    "urn": "Urn of an entity",
}
_QUERY_PARAMETERS = {
    "limit": "Maximum number of items per page",
    "direction": "Upstream (`backward`), downstream (`forward`)",
    "view": "`simple` leaves out fields between the sources and the field",
    "indirect": "Include indirect dependencies",
    "action": "Kind of the message, as DataHub's clients send it",
    "version": "Ignored: there is one version of an aspect",
    "createEntityIfNotExists": "Ignored, as DataHub's clients send it",
    "createIfNotExists": "Ignored, as DataHub's clients send it",
    "systemMetadata": "Ignored, as DataHub's clients send it",
}
_HEADERS = {
    "Window-Start": "Start of the window, included, in epoch seconds",
    "Window-End": "End of the window, excluded, in epoch seconds",
    "Base-Start": "Start of the window that is compared with the other, included, in epoch seconds",
    "Base-End": "End of the window that is compared with the other, excluded, in epoch seconds",
    "Retained-From": "If the window reaches before it: the horizon of the retention, in epoch seconds",
    "Principal": "If the server knows the principal of the request: its name, percent-encoded",
    "Link": 'Path of the next page, if there is one: `<…>; rel="next"`',
    "Truncated": "`true` if a limit cut the answer, and its body does not say so",
    "Truncated-By": "With `Truncated`: the limits that cut the answer, such as `pairs_max=250000`",
    "Retry-After": "Seconds to wait before the request is sent again",
}

_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token from `fll token create`, or a JSON Web Token, if the server requires one",
}


def complete(document: Json) -> Json:
    """Add to an OpenAPI document, in place, what all routes have in common; return it."""
    document["info"]["description"] = INTRODUCTION
    document["components"]["securitySchemes"] = {"token": _TOKEN}
    # A token is optional, since not every server requires one.
    document["security"] = [{}, {"token": []}]
    # sorted() is stable, so the other groups keep their order.
    ranks = {name: rank for rank, name in enumerate(TAGS_FIRST)}
    document["tags"] = sorted(document["tags"], key=lambda tag: ranks.get(tag["name"], len(ranks)))
    for path, item in document["paths"].items():
        for parameter in item.get("parameters", ()):
            _describe(parameter, _PATH_PARAMETERS)
        for method, operation in item.items():
            if method == "parameters":
                continue
            route = f"{method} {path}"
            operation["operationId"] = OPERATION_IDS.get(route) or _derived_id(route)
            _add_examples(route, operation, item.get("parameters", []))
            _add_headers(operation)
    return document


def _derived_id(route: str) -> str:
    """Return an id for a route without a name of its own: its method and the fixed parts of its path."""
    method, _, path = route.partition(" ")
    words = [word for word in path.split("/") if word and word != "v3" and not word.startswith("{")]
    return "_".join([method, *words]).lower()


def _describe(parameter: Json, descriptions: dict[str, str]) -> None:
    """Give a parameter its description in `descriptions`, unless it has its own."""
    if parameter["name"] in descriptions:
        parameter.setdefault("description", descriptions[parameter["name"]])


def _add_examples(route: str, operation: Json, path_parameters: list[Json]) -> None:
    """Add descriptions and examples to an operation; path parameters with an example are copied into it."""
    copies = [
        {**parameter, "example": example}
        for parameter in path_parameters
        if (example := examples.parameter_example(route, parameter["name"])) is not None
    ]
    for parameter in operation.get("parameters", ()):
        _describe(parameter, _QUERY_PARAMETERS)
        parameter["schema"] = _query_schema(parameter["schema"])
        example = examples.parameter_example(route, parameter["name"])
        if example is not None and parameter["in"] == "query":
            parameter["example"] = example
    if copies:
        # Parameters of an operation replace parameters of its path with the same name.
        operation["parameters"] = [*copies, *operation.get("parameters", [])]
    if route in examples.BODIES:
        for media in operation["requestBody"]["content"].values():
            media["example"] = examples.BODIES[route]


def _query_schema(schema: Json) -> Json:
    """Remove from the schema of a query parameter null and a default that means absent; return it.

    Generated clients send defaults, and an empty value is an error.
    """
    types = schema.get("type")
    if isinstance(types, list):
        (schema["type"],) = (name for name in types if name != "null")
    if "enum" in schema:
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    if schema.get("default", "") in (None, ""):
        schema.pop("default", None)
    return schema


def _add_headers(operation: Json) -> None:
    """Describe the headers of each answer: headers of the query on 200, `Retry-After` on 503."""
    for status, response in operation["responses"].items():
        names = _header_names(operation, response) if status == "200" else ()
        names = ("Retry-After",) if status == "503" else names
        if names:
            headers = response.setdefault("headers", {})
            headers |= {name: {"description": _HEADERS[name], "schema": {"type": "string"}} for name in names}


def _header_names(operation: Json, response: Json) -> tuple[str, ...]:
    """Return the headers of a successful answer, by the parameters of its route and its media types."""
    parameters = {parameter["name"] for parameter in operation.get("parameters", ())}
    windowed = ("Window-Start", "Window-End", "Retained-From") if "start" in parameters else ()
    base = ("Base-Start", "Base-End") if "baseStart" in parameters else ()
    paged = ("Link",) if "cursor" in parameters else ()
    # Not only bare arrays: CSV has no members, and many lists have none for damaged rows.
    truncated = ("Truncated", "Truncated-By") if windowed or paged else ()
    report = ("Principal",) if "text/html" in response.get("content", ()) else ()
    return (*windowed, *base, *paged, *truncated, *report)


class DescribedApi(flask_smorest.Api):  # type: ignore[misc]
    """The routes of an app, the error handlers of `problems`, and the OpenAPI document."""

    ERROR_SCHEMA = body_schema(Problem)
    # flask-smorest would add a default error to every route. Each route lists the problems it can have.
    DEFAULT_ERROR_RESPONSE_NAME = None

    def __init__(self, app: Flask, *, components: Iterable[type[Struct]]) -> None:
        """Take the app, and as `components` the bodies that routes refer to by name."""
        self._components = list(components)
        self._undescribed: list[flask_smorest.Blueprint] = []
        self._lock = threading.Lock()
        super().__init__(app)

    def register_blueprint(self, blueprint: flask_smorest.Blueprint) -> None:
        """Register the routes of a blueprint on the app; `document` describes them later."""
        self._app.extensions["flask-smorest"]["blp_name_to_api"][blueprint.name] = self
        self._app.register_blueprint(blueprint)
        self._undescribed.append(blueprint)

    def _init_spec(self, **options: Any) -> None:
        """Keep the options of the document; `document` does later what flask-smorest would do here."""
        self._spec_options = options

    def document(self) -> Json:
        """Return the OpenAPI document of all registered routes. Threads may call it at once."""
        # Building it when the app is created would make that several times as slow in every process.
        with self._lock:
            self._describe()
            return complete(deepcopy(self.spec.to_dict()))

    def _describe(self) -> None:
        """Add the components and blueprints not yet described to the document. The caller holds the lock."""
        if self.spec is None:
            super()._init_spec(**self._spec_options)
        # Before the routes: apispec names a schema that it first meets in a route after its class.
        for body in self._components:
            self.spec.components.schema(schema_name(body), schema=body_schema(body))
        self._components.clear()
        for blueprint in self._undescribed:
            blueprint.register_views_in_doc(self, self._app, self.spec, name=blueprint.name, parameters=None)
            self.spec.tag({"name": blueprint.name, "description": blueprint.description})
        self._undescribed.clear()

    def _register_error_handlers(self) -> None:
        """Register the handlers of `problems` in place of flask-smorest's own."""
        # flask-smorest's own handler covers HTTP errors alone, and its JSON is not a problem of RFC 9457.
        problems.register_error_handlers(self._app)
