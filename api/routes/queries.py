"""Routes of queries, each built from the description of its query."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
from flask import Response, request

from fll_hbase.model.access import Principal, Role
from fll_hbase.queries.query import Answer, Changeable, Posted, Printed, Query
from fll_hbase.queries.reports.report_document import Stamp
from fll_hbase.runtime import deadline
from fll_hbase.runtime.release import VERSION

from ..observability.observer import note_query
from ..openapi.query_schemas import answer_schema, parameter_schema, reference
from ..wire import responses
from ..wire.environ import PRINCIPAL
from ..wire.query_params import now_ms, window_params
from .blueprint import Blueprint, body, store

_JSON = "application/json"
# Private, so that a proxy does not serve an answer for one client to another.
_IMMUTABLE = "private, max-age=31536000, immutable"
"""One year, the longest that caches use. With `immutable`, a reload sends no request either (RFC 8246)."""
_HTML = "text/html"
_HTML_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
"""The policy of a page to print, which may load nothing except its own styles."""

_ANSWERS: dict[type[Query[Any]], Callable[[Any], Answer[Any]]] = {}
"""Functions that answer a query instead of the store."""


def add_query(
    blueprint: Blueprint, query: type[Query[Any]], *, answer: Callable[[Any], Answer[Any]] | None = None
) -> None:
    """Add the route of a query to a blueprint; `answer` replaces the answer of the store."""
    if answer is not None:
        _ANSWERS[query] = answer

    def view(parameters: dict[str, Any], **names: str) -> Response:
        if issubclass(query, Posted):
            raw = body(Role.READER)
            with deadline.reading():
                parameters = parameters | query.body_parameters(raw)
        given = query(**names, **parameters)
        return respond(given, answer_query(given))

    view.query = query  # type: ignore[attr-defined]  # for `first_reads` of batches; decorators keep it
    view.__doc__ = description(query)
    view.__name__ = query.__name__
    view = blueprint.problems(*query.statuses)(view)
    for media_type, write in query.formats.items():
        # A page to print also shows when and for whom it was made, which an example lacks.
        text = None if query.example is None or media_type == _HTML else write(query.example)
        view = blueprint.alt_response(
            200,
            schema={"type": "string"},
            content_type=media_type,
            description=query.result,
            example=text,
            success=True,
        )(view)
    view = blueprint.response(
        200, answer_schema(query), description=query.result, example=msgspec.to_builtins(query.example)
    )(view)
    if issubclass(query, Posted):
        view = blueprint.requires(reference(query.request))(view)
    view = blueprint.arguments(parameter_schema(query)(), location="query")(view)
    methods = ["POST"] if issubclass(query, Posted) else ["GET"]
    blueprint.route(rule(query), endpoint=query.__name__, methods=methods)(view)


def answer_query(query: Query[Any]) -> Answer[Any]:
    """Answer a query as the principal of the request may see it. Raises LineageError.

    Fields that the body of a posted query names are noted for the audit log.
    """
    if isinstance(query, Posted):
        for field in query.named_fields():
            note_query(request.environ, field.dataset, field.name)
    answer = _ANSWERS.get(type(query))
    return answer(query) if answer else query.checked_answer(store(), now_ms=now_ms())


def put(query: Changeable[Any], namespace: str | None = None) -> Response:
    """Store the object that a query describes from the body of the request; return it, with 201 if it is new.

    Raises Forbidden without the role `steward` in the namespace, or in any namespace for None, and the errors
    of `body` and of `query.put`.
    """
    stored, is_new = query.put(store(), body(Role.STEWARD, namespace))
    return responses.json_response(stored, 201 if is_new else 200)


def remove(query: Changeable[Any]) -> Response:
    """Remove the object that a query describes, if the store's view allows it; return a 204.

    Raises NotFound if it does not exist, AmbiguousName for a policy of several namespaces, and any other
    LineageError of the store, such as Forbidden.
    """
    query.remove(store())
    return Response(status=204)


def query_blueprint(name: str, description: str, *queries: type[Query[Any]]) -> Blueprint:
    """Return a new blueprint with the routes of queries; `description` describes the group."""
    blueprint = Blueprint(name, __name__, description=description)
    for query in queries:
        add_query(blueprint, query)
    return blueprint


def rule(query: type[Query[Any]]) -> str:
    """Return the path of a query as a rule of Flask, in which each name has the converter of that name."""
    return re.sub(r"{(\w+)}", r"<\1:\1>", query.path)


def description(query: type[Query[Any]]) -> str:
    """Return the description of a query without the examples of its docstring."""
    return inspect.cleandoc(query.__doc__ or "").partition("\n>>>")[0].strip()


def _stamp(zone: str) -> Stamp:
    """Return when, for whom and by which server the answer is made, and the zone of its times."""
    return Stamp(now_ms(), by=_principal_name(), store=f"{request.host_url}, fll_hbase {VERSION}", zone=zone)


def _principal_name() -> str:
    """Return the name of the principal of the request, "" if the server knows none."""
    principal: Principal | None = request.environ.get(PRINCIPAL)
    return "" if principal is None else principal.name


def _name_principal(response: Response, query: Query[Any]) -> None:
    """Add the name of the principal to a report, for a client that prints it. Headers are ASCII."""
    if _HTML in query.formats and (name := _principal_name()):
        response.headers["Principal"] = quote(name)


def respond(query: Query[Any], answer: Answer[Any]) -> Response:
    """Return the response with an answer, its windows, limits and next page.

    The body is JSON unless the client prefers another of `query.formats`, or only accepts that.
    """
    if answer.window is None:
        response = responses.json_response(answer.body)
    else:
        response = responses.windowed_response(
            answer.body, answer.window, retained_from_ms=answer.retained_from_ms
        )
    if answer.base_window is not None:
        response.headers["Base-Start"] = responses.epoch_seconds(answer.base_window.start_ms)
        response.headers["Base-End"] = responses.epoch_seconds(answer.base_window.stop_ms)
    if query.is_immutable:
        response.headers["Cache-Control"] = _IMMUTABLE
    # A truncated answer must not look complete, even if its body has no member for limits (decision 8).
    has_limits = hasattr(answer.body, "truncated_by") and not query.limits_in_headers
    if query.formats:
        accepted = request.accept_mimetypes.best_match([_JSON, *query.formats], default=_JSON)
        if accepted in query.formats:
            zone = query.timezone if isinstance(query, Printed) else "UTC"
            response.set_data(query.to_text(accepted, answer.body, answer.window, stamp=_stamp(zone)))
            response.mimetype = accepted
            if accepted == _HTML:
                response.headers[responses.CONTENT_SECURITY_POLICY] = _HTML_POLICY
            has_limits = False
        response.vary.add("Accept")
    _name_principal(response, query)
    if not has_limits:
        responses.add_limits(response, answer.truncated_by)
    if not answer.cursor:
        return response
    window = window_params(answer.window) if answer.window else {}
    return responses.with_next_link(response, cursor=answer.cursor, **window)
