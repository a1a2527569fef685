"""Shapes of the answers of the ancestor's routes, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from .answer_schemas import EndPointSchema


class AncestorFieldSchema(ma.Schema):
    """A field; `lineage` is true if a run of the window wrote it."""

    name = fields.String(required=True)
    lineage = fields.Boolean(required=True)


class AncestorDatasetSchema(ma.Schema):
    """A dataset by name."""

    namespace = fields.String(required=True)
    dataset = fields.String(required=True)
    entity = fields.String(required=True, validate=validate.OneOf(["DATASET"]))


class AncestorDatasetFieldsSchema(ma.Schema):
    """Fields of one dataset."""

    dataset = fields.Nested(AncestorDatasetSchema, required=True)
    names = fields.List(fields.String(), data_key="fields", required=True)


class AncestorSummarySchema(ma.Schema):
    """The fields that a field comes from, and those that are made of it; the directions of the query only."""

    incoming = fields.List(fields.Nested(AncestorDatasetFieldsSchema))
    outgoing = fields.List(fields.Nested(AncestorDatasetFieldsSchema))
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())


class AncestorProgramSchema(ma.Schema):
    """A program by name."""

    namespace = fields.String(required=True)
    application = fields.String(required=True)
    version = fields.String(required=True)
    type = fields.String(required=True)
    program = fields.String(required=True)
    entity = fields.String(required=True, validate=validate.OneOf(["PROGRAM"]))


class AncestorLastRunSchema(ma.Schema):
    """A program and the start of its newest run."""

    program = fields.Nested(AncestorProgramSchema, required=True)
    lastExecutedTimeInSeconds = fields.Integer(required=True)


class AncestorInputFieldSchema(ma.Schema):
    """A field as the output of an operation."""

    origin = fields.String(required=True)
    name = fields.String(required=True)


class AncestorInputsSchema(ma.Schema):
    """The dataset that an operation reads, or the fields that it uses."""

    endPoint = fields.Nested(EndPointSchema)
    names = fields.List(fields.Nested(AncestorInputFieldSchema), data_key="fields")


class AncestorOutputsSchema(ma.Schema):
    """The dataset that an operation writes, or the fields that it produces."""

    endPoint = fields.Nested(EndPointSchema)
    names = fields.List(fields.String(), data_key="fields")


class AncestorOperationSchema(ma.Schema):
    """An operation."""

    name = fields.String(required=True)
    description = fields.String(required=True)
    inputs = fields.Nested(AncestorInputsSchema, required=True)
    outputs = fields.Nested(AncestorOutputsSchema, required=True)


class AncestorPerformedSchema(ma.Schema):
    """Operations in an order that can run, and the programs that performed them, the newest run first."""

    programs = fields.List(fields.Nested(AncestorLastRunSchema), required=True)
    operations = fields.List(fields.Nested(AncestorOperationSchema), required=True)


class AncestorOperationsSchema(ma.Schema):
    """The operations that lead into a field, and those that it leads to; the directions of the query only."""

    incoming = fields.List(fields.Nested(AncestorPerformedSchema))
    outgoing = fields.List(fields.Nested(AncestorPerformedSchema))
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())


class AncestorRelationSchema(ma.Schema):
    """A source field and a destination field."""

    source = fields.String(required=True)
    destination = fields.String(required=True)


class AncestorRelationsSchema(ma.Schema):
    """A related dataset with the number of its fields in the window, and the pairs with its fields."""

    entityId = fields.Nested(AncestorDatasetSchema, required=True)
    fieldCount = fields.Integer(required=True)
    relations = fields.List(fields.Nested(AncestorRelationSchema), required=True)


class AncestorDatasetSummarySchema(ma.Schema):
    """The relations of all fields of a dataset; times in milliseconds since 1970."""

    class Meta:
        # Two members are no identifiers.
        include = {  # noqa: RUF012 (as marshmallow reads it)
            "start-ts": fields.Integer(required=True),
            "end-ts": fields.Integer(required=True),
        }

    direction = fields.String(required=True, validate=validate.OneOf(["INCOMING", "OUTGOING", "BOTH"]))
    entityId = fields.Nested(AncestorDatasetSchema, required=True)
    names = fields.List(fields.String(), data_key="fields", required=True)
    incoming = fields.List(fields.Nested(AncestorRelationsSchema), required=True)
    outgoing = fields.List(fields.Nested(AncestorRelationsSchema), required=True)
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())
