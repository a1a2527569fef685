"""Shapes of answers about one dataset, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields


class EndPointDetailsSchema(ma.Schema):
    """A dataset over all time; starts are in milliseconds since 1970, null if no run is stored."""

    namespace = fields.String(required=True)
    name = fields.String(required=True)
    description = fields.String(required=True)
    # An attribute `fields` would hide the one in which marshmallow keeps the members of a schema.
    field_count = fields.Integer(data_key="fields", required=True)
    firstStart = fields.Integer(required=True, allow_none=True)
    lastStart = fields.Integer(required=True, allow_none=True)
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())
