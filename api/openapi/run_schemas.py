"""Shapes of answers about the runs of a dataset, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields

from .answer_schemas import RunOfProgramSchema


class NamespaceRunsSchema(ma.Schema):
    """A page of the runs of a namespace's programs; `truncated` only if a limit left out others."""

    runs = fields.List(fields.Nested(RunOfProgramSchema), required=True)
    truncated = fields.Boolean()
    truncatedBy = fields.List(fields.String())
