"""Tags of fields: put, removed and listed by field, by dataset and by tag."""

from __future__ import annotations

from typing import Any

from flask import Response

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries.tags import (
    DatasetTags,
    FieldTags,
    Tag,
    TagBody,
    TaggedFields,
    TagOfField,
    Tags,
    tag_body,
)
from fll_hbase.sources import tag_bodies

from ..openapi.query_schemas import body_schema, reference
from ..wire import responses
from ..wire.query_params import NoParams
from .blueprint import Blueprint, body, store
from .queries import add_query, rule

_RULE = rule(TagOfField)
_SCHEMA = body_schema(Tag)
_EXAMPLE = {"by": "ana@example.org", "description": "Identifies a person"}

blueprint = Blueprint("tags", __name__, description="Tags of fields")


@blueprint.route(_RULE, methods=["PUT"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.requires(reference(TagBody), example=_EXAMPLE)
@blueprint.alt_response(200, schema=_SCHEMA, description="The field had the tag: updated, or the same again")
@blueprint.response(201, _SCHEMA, description="The field has the tag, durably")
@blueprint.problems(400, 404, 413, 415, 503)
def put_tag(_: dict[str, Any], namespace: str, name: str, field: str, tag: str) -> Response:
    """Give a field a tag; the body says who does it, and why.

    The same again changes nothing and keeps `at`. 404 for a field that was never recorded.
    """
    parsed = tag_bodies.read_note(body())
    stored, is_new = store().tags.put(_field(namespace, name, field), tag, parsed.note)
    return responses.json_response(tag_body(stored, parsed.warnings), 201 if is_new else 200)


add_query(blueprint, TagOfField)


@blueprint.route(_RULE, methods=["DELETE"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(204, description="Removed, durably")
@blueprint.problems(400, 403, 404, 503)
def remove_tag(_: dict[str, Any], namespace: str, name: str, field: str, tag: str) -> Response:
    """Remove a tag from a field. 404 if the field does not have it."""
    store().tags.remove(_field(namespace, name, field), tag)
    return Response(status=204)


add_query(blueprint, FieldTags)
add_query(blueprint, DatasetTags)
add_query(blueprint, Tags)
add_query(blueprint, TaggedFields)


def _field(namespace: str, name: str, field: str) -> DatasetField:
    return DatasetField(Dataset(namespace, name), field)
