"""Which shape does a document with SQL have."""

from __future__ import annotations

from marshmallow import fields, validate

from api.openapi.schemas import Document, OutputField, RunSchema, Text
from fll_hbase.sources.sql import DIALECTS
from fll_hbase.sources.validation import ID_BYTES_MAX


class SqlDocumentSchema(Document):
    """A run with the statements that it ran."""

    namespace = Text(
        bytes_max=ID_BYTES_MAX, metadata={"description": "Needed where there is no URL; else it must agree"}
    )
    run = fields.Nested(RunSchema, required=True)
    sql = Text(required=True, metadata={"description": "One statement, or several with `;` between them"})
    dialect = fields.String(validate=validate.OneOf(DIALECTS), dump_default=DIALECTS[0])
    schema = fields.Dict(
        keys=fields.String(),
        values=fields.List(OutputField()),
        metadata={"description": "The columns of tables, in their order"},
    )


NAMED = {"SqlDocument": SqlDocumentSchema}
"""Schemas that routes refer to by name."""
