"""Shapes of reports, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from fll_hbase.queries.history import Stretch
from fll_hbase.queries.programs import Program
from fll_hbase.queries.runs import ListedRun

from .answer_schemas import ConnectionSchema, NodeSchema, OperationSchema, PathSchema
from .query_schemas import body_schema
from .reach_schemas import ReachFieldSchema, UnknownRelationSchema


class ReachedFieldSchema(ReachFieldSchema):
    """A field within reach, with a path that explains it, and the runs of the edge that ran last to it."""

    hops = fields.Integer(required=True)
    influence = fields.String(required=True, validate=validate.OneOf(["direct", "indirect"]))
    runs = fields.Integer()
    firstStart = fields.Integer()
    lastStart = fields.Integer()
    lastRun = fields.String()
    failed = fields.Boolean()
    dropped = fields.Boolean(metadata={"description": "Some run read it and did not use it"})
    inOrder = fields.Boolean(
        metadata={
            "description": "With `causal=false` alone: false if the order of the runs in the window does not"
            " allow the field"
        }
    )
    path = fields.List(fields.Nested(ReachFieldSchema), required=True)


class _ReportSchema(ma.Schema):
    """The members of all reports."""

    report = fields.String(required=True)
    subject = fields.Nested(ReachFieldSchema, data_key="field", required=True)
    unknown_relations = fields.List(fields.Nested(UnknownRelationSchema), data_key="unknown")
    retainedFrom = fields.Integer()
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())


class ConsumptionSchema(_ReportSchema):
    """Programs and runs that read a field, and fields made from it; later pages have the runs alone."""

    runs = fields.List(fields.Nested(body_schema(ListedRun)), required=True)
    moreRuns = fields.Boolean(required=True)
    programs = fields.List(fields.Nested(body_schema(Program)))
    derived = fields.List(fields.Nested(ReachedFieldSchema))
    dropped = fields.Boolean()


class GraphSchema(ma.Schema):
    """The operations of a field as a graph, as the query of its operations has them."""

    nodes = fields.List(fields.Nested(NodeSchema), required=True)
    operations = fields.List(fields.Nested(OperationSchema), required=True)
    connections = fields.List(fields.Nested(ConnectionSchema), required=True)
    checksums = fields.List(fields.String(), required=True)


class ProvenanceSchema(_ReportSchema):
    """The sources of a field, its operations in order, and the stretches of runs with the same ones."""

    sources = fields.List(fields.Nested(ReachedFieldSchema), required=True)
    upstream = fields.List(fields.Nested(ReachedFieldSchema), required=True)
    derivations = fields.List(fields.Nested(PathSchema), required=True)
    detailed = fields.Nested(GraphSchema, required=True)
    simple = fields.Nested(GraphSchema, required=True)
    stretches = fields.List(fields.Nested(body_schema(Stretch)), required=True)
