"""Shapes of recent activity, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate


class ActivityEventSchema(ma.Schema):
    """One document that a client sent; members without a value are left out."""

    time = fields.Integer(required=True, metadata={"description": "Milliseconds since 1970"})
    outcome = fields.String(
        required=True, validate=validate.OneOf(["recorded", "replaced", "repeated", "refused"])
    )
    route = fields.String(
        required=True, metadata={"description": "As in this document; the path where none serves it"}
    )
    sender = fields.String(metadata={"description": "The principal, with authentication"})
    client = fields.String(metadata={"description": "The User-Agent"})
    namespace = fields.String()
    program = fields.String(metadata={"description": "Or the dataset that metadata is about"})
    run = fields.String(metadata={"description": "The first run of the document"})
    warnings = fields.Integer(metadata={"description": "How many parts were left out or are doubtful"})
    reasons = fields.List(
        fields.String(), metadata={"description": "The first warnings, or why the document was refused"}
    )


class ActivitySchema(ma.Schema):
    """The documents that arrived lately."""

    events = fields.List(fields.Nested(ActivityEventSchema), required=True)
    covers = fields.String(required=True, metadata={"description": "Which documents can be in the list"})
    truncated = fields.Boolean(required=True, metadata={"description": "Whether `limit` left any out"})
