"""Tags of fields: set, removed and listed by field, by dataset and by tag."""

from __future__ import annotations

from typing import Any

from flask import Response

from fll_hbase.queries.tags import DatasetTags, FieldTags, Tag, TagBody, TaggedFields, TagOfField, Tags

from ..openapi.query_schemas import body_schema, reference
from ..wire.query_params import NoParams
from .blueprint import Blueprint
from .queries import add_query, put, remove, rule

_RULE = rule(TagOfField)
_SCHEMA = body_schema(Tag)
_EXAMPLE = {"by": "ana@example.org", "description": "Identifies a person"}

blueprint = Blueprint("tags", __name__, description="Tags of fields")


@blueprint.route(_RULE, methods=["PUT"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.requires(reference(TagBody), example=_EXAMPLE)
@blueprint.alt_response(200, schema=_SCHEMA, description="The field had the tag: updated, or unchanged")
@blueprint.response(201, _SCHEMA, description="The field has the tag, durably")
@blueprint.problems(400, 404, 413, 415, 503)
def put_tag(_: dict[str, Any], **names: str) -> Response:
    """Tag a field; the body states who sets the tag, and why.

    Setting the same tag again changes nothing and keeps `at`. 404 for a field that was never recorded.
    """
    return put(TagOfField(**names), names["namespace"])


add_query(blueprint, TagOfField)


@blueprint.route(_RULE, methods=["DELETE"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(204, description="Removed, durably")
@blueprint.problems(400, 403, 404, 503)
def remove_tag(_: dict[str, Any], **names: str) -> Response:
    """Remove a tag from a field. 404 if the field does not have it."""
    return remove(TagOfField(**names))


add_query(blueprint, FieldTags)
add_query(blueprint, DatasetTags)
add_query(blueprint, Tags)
add_query(blueprint, TaggedFields)
