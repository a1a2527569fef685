"""The shape of the retention report, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields

from fll_hbase.queries.policies import Policy
from fll_hbase.queries.tags import TaggedField

from .query_schemas import body_schema


class ExpiredRunsSchema(ma.Schema):
    """The runs beyond the age; starts are in milliseconds since 1970."""

    runs = fields.Integer(required=True)
    oldestRun = fields.String(required=True)
    oldestStart = fields.Integer(required=True)
    newestRun = fields.String(required=True)
    newestStart = fields.Integer(required=True)


class ExpiredProgramSchema(ExpiredRunsSchema):
    """A program whose runs wrote a field."""

    namespace = fields.String(required=True)
    application = fields.String(required=True)
    program = fields.String(required=True)
    type = fields.String(required=True)


class ExpiredFieldSchema(ExpiredRunsSchema):
    """A field with data older than the policy allows; the path begins with a field of the policy."""

    namespace = fields.String(required=True)
    name = fields.String(required=True)
    field = fields.String(required=True)
    path = fields.List(fields.Nested(body_schema(TaggedField)), required=True)
    programs = fields.List(fields.Nested(ExpiredProgramSchema), required=True)


class ReportWindowSchema(ma.Schema):
    """The window of the report, which ends at the cut-off at the latest, in milliseconds since 1970."""

    start = fields.Integer(required=True)
    end = fields.Integer(required=True)


class RetentionReportSchema(ma.Schema):
    """Where data is older than a policy allows, by field."""

    policy = fields.Nested(body_schema(Policy), required=True)
    window = fields.Nested(ReportWindowSchema, required=True)
    expired = fields.List(fields.Nested(ExpiredFieldSchema), data_key="fields", required=True)
    retainedFrom = fields.Integer(
        metadata={"description": "Runs before it may have been purged; only if it is after the start"}
    )
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())
