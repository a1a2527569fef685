"""Shapes of answers about the runs of a dataset, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from .answer_schemas import RunOfProgramSchema


class ProgramSchema(ma.Schema):
    """A program by its runs of a window; starts are in milliseconds since 1970."""

    namespace = fields.String(required=True)
    application = fields.String(required=True)
    program = fields.String(required=True)
    type = fields.String(required=True)
    direction = fields.String(required=True, validate=validate.OneOf(["backward", "forward", "both"]))
    runs = fields.Integer(required=True)
    failed = fields.Integer(required=True)
    firstStart = fields.Integer(required=True)
    lastStart = fields.Integer(required=True)
    lastRun = fields.String(required=True)


class ProgramsSchema(ma.Schema):
    """The programs of the runs of a window."""

    programs = fields.List(fields.Nested(ProgramSchema), required=True)
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())


class RunBucketSchema(ma.Schema):
    """The runs that start between `start`, in epoch seconds, and the next bucket."""

    start = fields.Float(required=True)
    complete = fields.Integer(
        required=True, metadata={"description": "Runs that neither failed nor were aborted"}
    )
    failed = fields.Integer(required=True)


class RunCountsSchema(ma.Schema):
    """Counts of the runs of a window."""

    buckets = fields.List(fields.Nested(RunBucketSchema), required=True)
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())


class NamespaceRunsSchema(ma.Schema):
    """A page of the runs of a namespace's programs; `truncated` only if a limit left out others."""

    runs = fields.List(fields.Nested(RunOfProgramSchema), required=True)
    truncated = fields.Boolean()
    truncatedBy = fields.List(fields.String())
