"""Shapes and examples of diffs, for the OpenAPI document alone."""

from __future__ import annotations

from typing import Any

import marshmallow as ma
from marshmallow import fields, validate

from .answer_schemas import OperationSchema


class EdgeSchema(ma.Schema):
    """A connection of the graph of a field, or a field that a WRITE takes: `to` is `<WRITE>.<field>`."""

    from_ = fields.String(data_key="from", required=True)
    to = fields.String(required=True)
    operation = fields.String(required=True)
    influence = fields.String(validate=validate.Equal("indirect"))


class SourceSchema(ma.Schema):
    """A field that is read, at the beginning of a derivation."""

    namespace = fields.String(required=True)
    name = fields.String(required=True)
    field = fields.String(required=True)


class DerivationPartsSchema(ma.Schema):
    """Operations, edges and sources of derivations, each sorted."""

    operations = fields.List(fields.Nested(OperationSchema), required=True)
    edges = fields.List(fields.Nested(EdgeSchema), required=True)
    sources = fields.List(fields.Nested(SourceSchema), required=True)


class DifferenceSchema(ma.Schema):
    """Parts of the derivations of a field in one of two windows only."""

    gained = fields.Nested(DerivationPartsSchema, required=True)
    lost = fields.Nested(DerivationPartsSchema, required=True)
    common = fields.Integer(
        data_key="kept", required=True, metadata={"description": "Operations and edges in both windows"}
    )
    omitted = fields.List(
        fields.String(validate=validate.OneOf(["gained", "lost"])),
        metadata={"description": "Members that are empty because a limit cut the window they depend on"},
    )


class DiffSchema(DifferenceSchema):
    """Differences between the derivations of a field in two windows."""

    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())


class ChangedFieldSchema(DifferenceSchema):
    """A field whose derivations differ."""

    field = fields.String(required=True)


class DatasetDiffSchema(ma.Schema):
    """The fields of a dataset whose derivations differ between two windows."""

    changed = fields.List(fields.Nested(ChangedFieldSchema), data_key="fields", required=True)
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())


DIFF_EXAMPLE: dict[str, Any] = {
    "gained": {
        "operations": [
            {"name": "inflammation", "description": "C-reactive protein, scaled", "type": "TRANSFORM"}
        ],
        "edges": [
            {
                "from": "read_labs.crp",
                "to": "inflammation.inflammation_index",
                "operation": "inflammation",
            }
        ],
        "sources": [{"namespace": "hospital", "name": "LabResults", "field": "crp"}],
    },
    "lost": {"operations": [], "edges": [], "sources": []},
    "kept": 19,
    "truncated": False,
}

DATASET_DIFF_EXAMPLE: dict[str, Any] = {
    "fields": [
        {
            "field": "patient_medical_score",
            **{name: value for name, value in DIFF_EXAMPLE.items() if name != "truncated"},
        }
    ],
    "truncated": False,
}
