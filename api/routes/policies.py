"""Policies on the age and on the flow of data: set, removed and listed."""

from __future__ import annotations

from typing import Any

from flask import Response

from fll_hbase.queries.flows import Flows
from fll_hbase.queries.policies import Policies, Policy, PolicyBody, PolicyByName, UncheckedPolicy
from fll_hbase.queries.retention import Retention

from ..openapi.query_schemas import body_schema, parameter_schema, reference
from ..wire.query_params import PutPolicyParams
from .blueprint import Blueprint
from .queries import add_query, put, remove, rule

_RULE = rule(PolicyByName)
_SCHEMA = body_schema(Policy)
_EXAMPLE = {"maxAge": "90d", "tag": "PII", "description": "Deleted after three months"}

blueprint = Blueprint(
    "policies",
    __name__,
    description="How long data, and what is derived from it, may live, and where it may go",
)


@blueprint.route(_RULE, methods=["PUT"])
@blueprint.arguments(PutPolicyParams(), location="query")
@blueprint.requires(reference(PolicyBody), example=_EXAMPLE)
@blueprint.alt_response(200, schema=_SCHEMA, description="The policy existed, and is updated or unchanged")
@blueprint.response(201, _SCHEMA, description="The policy is stored, durably")
@blueprint.problems(400, 413, 415, 422, 503)
def put_policy(parameters: dict[str, Any], policy: str) -> Response:
    """Set a policy: how long data of all fields with a tag, or of one field, may live, or where it may go.

    A body with `into` or `onlyInto` is a flow policy, which has a `tag` and no `maxAge`.

    Setting the same policy again changes nothing and keeps `at`. 422, with near names, if no field has the
    tag, or the field was never recorded.
    """
    return put(UncheckedPolicy(policy) if parameters["allow_unknown"] else PolicyByName(policy))


add_query(blueprint, PolicyByName)


@blueprint.route(_RULE, methods=["DELETE"])
@blueprint.arguments(parameter_schema(PolicyByName)(), location="query")
@blueprint.response(204, description="Removed, durably")
@blueprint.problems(400, 403, 404, 409, 503)
def remove_policy(parameters: dict[str, Any], policy: str) -> Response:
    """Remove a policy. 404 if no policy has that name, 409 if several have it."""
    return remove(PolicyByName(policy, **parameters))


add_query(blueprint, Policies)


add_query(blueprint, Retention)


add_query(blueprint, Flows)
