"""Shapes of tags and policies, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

from .answer_schemas import FaultSchema

_BY = {"description": "The person or program that puts it"}
_TIME = {"description": "When it was put, in milliseconds since 1970"}


class TagBodySchema(ma.Schema):
    """The note of a tag that a client puts."""

    by = fields.String(validate=validate.Length(max=ID_BYTES_MAX), metadata=_BY)
    description = fields.String(validate=validate.Length(max=NAME_BYTES_MAX))


class PolicyFieldSchema(ma.Schema):
    """The field that a policy applies to."""

    namespace = fields.String(required=True, validate=validate.Length(min=1, max=ID_BYTES_MAX))
    name = fields.String(required=True, validate=validate.Length(min=1, max=NAME_BYTES_MAX))
    field = fields.String(required=True, validate=validate.Length(min=1, max=NAME_BYTES_MAX))


class PolicyBodySchema(ma.Schema):
    """A policy on the age of data: it has either `tag` or `field`."""

    maxAge = fields.String(
        required=True,
        metadata={"description": "A whole number and a unit, s m h d w", "pattern": "^[0-9]{1,9}[smhdw]$"},
    )
    tag = fields.String(validate=validate.Length(min=1, max=ID_BYTES_MAX))
    field = fields.Nested(PolicyFieldSchema)
    description = fields.String(validate=validate.Length(max=NAME_BYTES_MAX))


class PolicySchema(PolicyBodySchema):
    """A policy as it is stored."""

    name = fields.String(required=True)
    time = fields.Integer(data_key="at", required=True, metadata=_TIME)
    warnings = fields.List(fields.Nested(FaultSchema))


class PoliciesSchema(ma.Schema):
    """Policies by name."""

    policies = fields.List(fields.Nested(PolicySchema), required=True)


COMPONENTS = {"TagBody": TagBodySchema, "PolicyBody": PolicyBodySchema}
"""Schemas that are referred to by name."""
