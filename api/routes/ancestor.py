"""The lineage routes of the ancestor, CDAP, in its own words, for clients that were written for it."""

from __future__ import annotations

from typing import Any

import marshmallow as ma
from flask import Response
from marshmallow import ValidationError

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import BOTH, Direction
from fll_hbase.queries import ancestor_json

from ..openapi.ancestor_schemas import (
    AncestorDatasetSummarySchema,
    AncestorFieldSchema,
    AncestorOperationsSchema,
    AncestorSummarySchema,
)
from ..wire import responses
from ..wire.query_params import FlagParam, WindowParams
from .blueprint import Blueprint, store

blueprint = Blueprint(
    "ancestor", __name__, description="The lineage routes of CDAP, in its words: `incoming`, `outgoing`"
)

_LINEAGE_PATH = "/v3/namespaces/<namespace:namespace>/datasets/<name:name>/lineage"
_WORDS = {**{word: (direction,) for word, direction in ancestor_json.DIRECTIONS.items()}, "both": BOTH}


class AncestorDirectionParam(ma.fields.String):
    """`incoming`, `outgoing` or `both`, in any case as in the ancestor; loaded as a tuple of directions."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return _WORDS[str(value).lower()]
        except KeyError as error:
            raise ValidationError(f"{str(value)[:100]!r} is not one of {', '.join(_WORDS)}") from error


class AncestorFieldsParams(WindowParams):
    """The fields of a dataset."""

    prefix = ma.fields.String(load_default="", metadata={"description": "Prefix of the fields, in any case"})
    include_current = FlagParam(
        data_key="includeCurrent",
        load_default=False,
        metadata={"description": "Include fields that no run of the window wrote; return objects, not names"},
    )


class AncestorLineageParams(WindowParams):
    """Lineage of a field or dataset; `direction` is loaded as a tuple of directions."""

    direction = AncestorDirectionParam(
        load_default=BOTH,
        metadata={"description": "Upstream, downstream or both", "enum": list(_WORDS), "default": "both"},
    )


@blueprint.route(f"{_LINEAGE_PATH}/fields")
@blueprint.arguments(AncestorFieldsParams(), location="query")
@blueprint.response(
    200,
    {"anyOf": [{"type": "array", "items": {"type": "string"}}, AncestorFieldSchema(many=True)]},
    description="By name; objects with `includeCurrent=true`",
)
@blueprint.problems(400, 404, 503)
def fields(query: dict[str, Any], namespace: str, name: str) -> Response:
    """List the fields of a dataset that runs of the window wrote, by name.

    With `includeCurrent=true` all fields ever recorded are listed, as objects.
    """
    dataset, window = Dataset(namespace, name), query["window"]
    retained_from_ms = store().retained_from_ms(dataset, window)
    written = store().summaries.written_fields(dataset, window)
    listed = written
    if query["include_current"]:
        listed = sorted({*written, *(store().catalogue.field_names(dataset) or ())})
    prefix = query["prefix"].casefold()
    matches = [field for field in listed if field.casefold().startswith(prefix)]
    body = ancestor_json.field_names(matches, written=set(written)) if query["include_current"] else matches
    return responses.windowed_response(body, window, retained_from_ms=retained_from_ms)


@blueprint.route(f"{_LINEAGE_PATH}/fields/<field:field>")
@blueprint.arguments(AncestorLineageParams(), location="query")
@blueprint.response(200, AncestorSummarySchema, description="By dataset and field")
@blueprint.problems(400, 404, 503)
def field_summary(query: dict[str, Any], namespace: str, name: str, field: str) -> Response:
    """Return the fields that a field comes from, and those that are made of it: one hop."""
    dataset_field, window = DatasetField(Dataset(namespace, name), field), query["window"]
    retained_from_ms = store().retained_from_ms(dataset_field.dataset, window)
    related = {
        direction: store().summaries.related_fields(dataset_field, window, direction)
        for direction in query["direction"]
    }
    body = ancestor_json.field_summary(related)
    return responses.windowed_response(body, window, retained_from_ms=retained_from_ms)


@blueprint.route(f"{_LINEAGE_PATH}/fields/<field:field>/operations")
@blueprint.arguments(AncestorLineageParams(), location="query")
@blueprint.response(200, AncestorOperationsSchema, description="Those of the newest run first")
@blueprint.problems(400, 404, 503)
def field_operations(query: dict[str, Any], namespace: str, name: str, field: str) -> Response:
    """Return the operations that lead into a field, and those that it leads to, with their programs.

    Each program is listed with the start of its newest run. Every run of the window is read.
    """
    dataset_field, window = DatasetField(Dataset(namespace, name), field), query["window"]
    retained_from_ms = store().retained_from_ms(dataset_field.dataset, window)
    programs = {
        direction: store().field_programs.read(dataset_field, window, direction)
        for direction in query["direction"]
    }
    body = ancestor_json.field_operations(programs)
    return responses.windowed_response(body, window, retained_from_ms=retained_from_ms)


@blueprint.route(f"{_LINEAGE_PATH}/allfieldlineage")
@blueprint.arguments(AncestorLineageParams(), location="query")
@blueprint.response(200, AncestorDatasetSummarySchema, description="By dataset and field")
@blueprint.problems(400, 404, 503)
def dataset_summary(query: dict[str, Any], namespace: str, name: str) -> Response:
    """Return the relations of all fields of a dataset with those of other datasets: one hop."""
    dataset, window = Dataset(namespace, name), query["window"]
    directions: tuple[Direction, ...] = query["direction"]
    retained_from_ms = store().retained_from_ms(dataset, window)
    lineage = store().lineage(dataset, window, directions=directions)
    summary = store().summaries.summary(dataset, window, lineage)
    body = ancestor_json.dataset_summary(dataset, window, directions, summary)
    return responses.windowed_response(body, window, retained_from_ms=retained_from_ms)
