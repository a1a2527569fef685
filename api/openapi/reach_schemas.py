"""Shapes of answers about field reach, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from fll_hbase.queries.names import FieldName
from fll_hbase.queries.reports.field_report import UnknownRelation

from .query_schemas import body_schema

_DIRECTION = fields.String(validate=validate.OneOf(["backward", "forward"]))
_IN_ORDER = fields.Boolean(
    metadata={
        "description": "Whether the order of the runs in the window allows a value to have passed here;"
        " left out if the time of the request ended before that was known"
    }
)


ReachFieldSchema = body_schema(FieldName)
UnknownRelationSchema = body_schema(UnknownRelation)


class ReachNodeSchema(ma.Schema):
    """A field within reach, with the least number of hops to it; `dropped` if some run read it unused.

    `type` is the latest one in the catalogue, if it has one. `direction` is there with `direction=both`.
    """

    namespace = fields.String(required=True)
    name = fields.String(required=True)
    field = fields.String(required=True)
    hops = fields.Integer(required=True)
    type = fields.String()
    dropped = fields.Boolean()
    inOrder = _IN_ORDER
    direction = fields.String(validate=validate.OneOf(["both", "backward", "forward"]))


class ReachEdgeSchema(ma.Schema):
    """A field that leads to another, with the runs in which it does; starts are in milliseconds since 1970.

    Without the members about runs if these were not counted. `failed` is true if all of them failed. With
    `direction=both` an edge stands once for each direction in which it is.
    """

    source = fields.Nested(ReachFieldSchema, data_key="from", required=True)
    to = fields.Nested(ReachFieldSchema, required=True)
    influence = fields.String(required=True, validate=validate.OneOf(["direct", "indirect"]))
    inOrder = _IN_ORDER
    runs = fields.Integer()
    firstStart = fields.Integer()
    lastStart = fields.Integer()
    lastRun = fields.String()
    failed = fields.Boolean()
    direction = _DIRECTION


class ReachSchema(ma.Schema):
    """The fields within reach of one field, and the edges between them, in the direction of the data."""

    nodes = fields.List(fields.Nested(ReachNodeSchema), required=True)
    edges = fields.List(fields.Nested(ReachEdgeSchema), required=True)
    unknown_relations = fields.List(fields.Nested(UnknownRelationSchema), data_key="unknown")
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())
