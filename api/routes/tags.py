"""Tags of fields: put, removed and listed by field, by dataset and by tag."""

from __future__ import annotations

from typing import Any

from flask import Response

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries import rest_json, tags_json
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import tag_bodies
from fll_hbase.store.inherited_tags import inherited_tags

from ..openapi.tag_schemas import (
    FieldTagListSchema,
    TaggedFieldsSchema,
    TagListSchema,
    TagNamesSchema,
    TagSchema,
)
from ..wire import responses
from ..wire.query_params import (
    FieldTagsParams,
    NoParams,
    PageParams,
    decode_cursor,
    encode_cursor,
    window_params,
)
from .blueprint import Blueprint, body, store
from .catalogue import list_page, page_limit

_DATASET_PATH = "/v3/namespaces/<namespace:namespace>/endpoints/<name:name>"
_FIELD_PATH = f"{_DATASET_PATH}/fields/<field:field>"
_TAG_PATH = f"{_FIELD_PATH}/tags/<tag:tag>"
_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/TagBody"},
            "example": {"by": "ana@example.org", "description": "Identifies a person"},
        }
    },
}

blueprint = Blueprint("tags", __name__, description="Tags of fields")


@blueprint.route(_TAG_PATH, methods=["PUT"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.doc(requestBody=_BODY)
@blueprint.alt_response(
    200, schema=TagSchema, description="The field had the tag: updated, or the same again"
)
@blueprint.response(201, TagSchema, description="The field has the tag, durably")
@blueprint.problems(400, 404, 413, 415, 503)
def put_tag(_: dict[str, Any], namespace: str, name: str, field: str, tag: str) -> Response:
    """Give a field a tag; the body says who does it, and why.

    The same again changes nothing and keeps `at`. 404 for a field that was never recorded.
    """
    parsed = tag_bodies.read_note(body())
    stored, is_new = store().tags.put(_field(namespace, name, field), tag, parsed.note)
    warnings = {"warnings": rest_json.field_errors(parsed.warnings)} if parsed.warnings else {}
    return responses.json_response(tags_json.tag(stored) | warnings, 201 if is_new else 200)


@blueprint.route(_TAG_PATH)
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, TagSchema)
@blueprint.problems(400, 404, 503)
def tag(_: dict[str, Any], namespace: str, name: str, field: str, tag: str) -> Response:
    """Return one tag of a field, with its time and its note. 404 if the field does not have it."""
    return responses.json_response(tags_json.tag(store().tags.get(_field(namespace, name, field), tag)))


@blueprint.route(_TAG_PATH, methods=["DELETE"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(204, description="Removed, durably")
@blueprint.problems(400, 403, 404, 503)
def remove_tag(_: dict[str, Any], namespace: str, name: str, field: str, tag: str) -> Response:
    """Remove a tag from a field. 404 if the field does not have it."""
    store().tags.remove(_field(namespace, name, field), tag)
    return Response(status=204)


@blueprint.route(f"{_FIELD_PATH}/tags")
@blueprint.arguments(FieldTagsParams(), location="query")
@blueprint.response(200, FieldTagListSchema, description="By code point")
@blueprint.problems(400, 404, 503)
def field_tags(query: dict[str, Any], namespace: str, name: str, field: str) -> Response:
    """List the tags of a field. 404 for a field that was never recorded.

    With `inherited=true` also those of all fields that its values come from, over direct edges, in the runs
    that start in the window. Each tag stands once, and has the `path` that explains it, the shortest one,
    from the field with the tag to this one. Without it the window has no effect. `changeable` is false
    if the principal may not put tags.
    """
    tagged = _field(namespace, name, field)
    if query["inherited"]:
        return _inherited(query, tagged)
    [start_after] = decode_cursor(query["cursor"], 1) or [""]
    # All tags of a field are in one row, which is read whole: only the answer is paged.
    matches = (entry for entry in store().tags.field_tags(tagged) if entry.tag > start_after)
    return list_page(
        matches,
        query,
        "tags",
        to_json=tags_json.tag,
        cursor_of=lambda entry: (entry.tag,),
        members=_changeable(tagged),
    )


def _inherited(query: dict[str, Any], field: DatasetField) -> Response:
    [start_after] = decode_cursor(query["cursor"], 1) or [""]
    window = query["window"]
    retained_from_ms = store().retained_from_ms(field.dataset, window)
    result = inherited_tags(store(), field, window, level=query["level"])
    limit = page_limit(query)
    matches = [entry for entry in result.tags if entry.tag.tag > start_after]
    body: Json = {"tags": [tags_json.inherited_tag(entry) for entry in matches[:limit]]}
    body |= _changeable(field) | tags_json.truncation(result.truncated_by)
    response = responses.windowed_response(body, window, retained_from_ms=retained_from_ms)
    if len(matches) <= limit:
        return response
    # With the window as it was resolved: a relative one would move between pages.
    cursor = encode_cursor(matches[limit - 1].tag.tag)
    return responses.with_next_link(response, cursor=cursor, **window_params(window))


@blueprint.route(f"{_DATASET_PATH}/tags")
@blueprint.arguments(PageParams(), location="query")
@blueprint.response(200, TagListSchema, description="By field and tag")
@blueprint.problems(400, 404, 503)
def dataset_tags(query: dict[str, Any], namespace: str, name: str) -> Response:
    """List the tags of all fields of a dataset. 404 for a dataset that was never recorded."""
    field, last_tag = decode_cursor(query["cursor"], 2) or ["", ""]
    stored = store().tags.dataset_tags(Dataset(namespace, name), start_after=(field, last_tag))
    return list_page(
        stored, query, "tags", to_json=tags_json.tag, cursor_of=lambda entry: (entry.field.name, entry.tag)
    )


@blueprint.route("/v3/tags")
@blueprint.arguments(PageParams(), location="query")
@blueprint.response(200, TagNamesSchema, description="By code point")
@blueprint.problems(400, 503)
def tags(query: dict[str, Any]) -> Response:
    """List the tags that any field has."""
    [start_after] = decode_cursor(query["cursor"], 1) or [""]
    names = store().tags.tags(start_after=start_after)
    return list_page(names, query, "tags", to_json=str, cursor_of=lambda name: (name,))


@blueprint.route("/v3/tags/<tag:tag>")
@blueprint.arguments(PageParams(), location="query")
@blueprint.response(200, TaggedFieldsSchema, description="By namespace, dataset and field")
@blueprint.problems(400, 503)
def tagged_fields(query: dict[str, Any], tag: str) -> Response:
    """List the fields that have a tag; none for a tag that no field has.

    A page may have fewer fields than its limit and still a next page.
    """
    cursor = decode_cursor(query["cursor"], 3)
    page = store().tags.tagged(tag, limit=page_limit(query), start_after=_field(*cursor) if cursor else None)
    response = responses.json_response(tags_json.tagged_fields(tag, page.tags))
    if page.next_after is None:
        return response
    last = page.next_after
    cursor_text = encode_cursor(last.dataset.namespace, last.dataset.name, last.name)
    return responses.with_next_link(response, cursor=cursor_text)


def _changeable(field: DatasetField) -> Json:
    return {} if store().may_tag(field.dataset) else {"changeable": False}


def _field(namespace: str, name: str, field: str) -> DatasetField:
    return DatasetField(Dataset(namespace, name), field)
