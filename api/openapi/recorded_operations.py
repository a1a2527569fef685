"""The shape of an operation as it is recorded, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from fll_hbase.model.operations import KINDS

from .document_schemas import INFLUENCES, OPERATIONS


class RecordedDatasetSchema(ma.Schema):
    """A dataset with the description that the operation has of it."""

    namespace = fields.String(required=True)
    name = fields.String(required=True)
    description = fields.String(required=True)


class RecordedInputSchema(ma.Schema):
    """A field that an operation takes; `origin` is the operation whose output it is."""

    origin = fields.String(required=True)
    name = fields.String(required=True)
    influence = fields.String(required=True, validate=validate.OneOf(INFLUENCES))
    kind = fields.String(
        validate=validate.OneOf(sorted(KINDS)), metadata={"description": "Of an indirect influence"}
    )


class RecordedOutputSchema(ma.Schema):
    """A field that an operation makes."""

    name = fields.String(required=True)
    type = fields.String()


class RecordedOperationSchema(ma.Schema):
    """An operation: a READ has `source` and `outputs`, a WRITE `destination` and `inputs`."""

    type = fields.String(required=True, validate=validate.OneOf(sorted(OPERATIONS)))
    name = fields.String(required=True)
    description = fields.String(required=True)
    source = fields.Nested(RecordedDatasetSchema)
    destination = fields.Nested(RecordedDatasetSchema)
    inputs = fields.List(fields.Nested(RecordedInputSchema))
    outputs = fields.List(fields.Nested(RecordedOutputSchema))
