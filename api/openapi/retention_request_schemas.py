"""Shapes of answers to retention requests, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields


class RetentionRequestSchema(ma.Schema):
    """A request, and how many runs it is about."""

    namespace = fields.String(metadata={"description": "Of a request about one dataset"})
    name = fields.String()
    before_ms = fields.Integer(
        data_key="before", required=True, metadata={"description": "Milliseconds since 1970"}
    )
    dryRun = fields.Boolean(required=True)
    runs = fields.Integer(
        required=True,
        metadata={"description": "Runs that are shown now and not after the request; at least, if truncated"},
    )
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())
