"""Shape of a document with a CDAP pipeline config, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields, validate

from fll_hbase.model.operations import KINDS
from fll_hbase.sources.validation import NAME_BYTES_MAX

from .document_schemas import (
    INFLUENCES,
    OPERATIONS,
    DescribedEndPointSchema,
    Document,
    NamespaceMember,
    OneOf,
    OutputField,
    RunSchema,
    Text,
)

# Only the members that lineage needs: configs are sent as CDAP exports them, and the rest is ignored.

_NAME = {"type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX}
# CDAP stores the schema of a record as JSON text within JSON.
_SCHEMA_TEXT = {
    "anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}],
    "description": "A record's, as JSON text or JSON",
}
_NAMED_SCHEMAS = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "schema": _SCHEMA_TEXT}},
}


class Shape(fields.Field[Any]):
    """A member with one or more of several inline shapes."""

    def __init__(self, *shapes: Mapping[str, object], **kwargs: Any) -> None:
        super().__init__(metadata={"anyOf": list(shapes)}, **kwargs)


class PluginSchema(Document):
    """The plugin of a stage; its type decides whether the stage is a source, sink, joiner or transform."""

    type = Text(empty=True, metadata={"description": "Such as `batchsource`, `transform`, `batchsink`"})
    properties = fields.Dict(
        metadata={"description": "`referenceName` names the dataset, `schema` the fields"}
    )


class StageInputSchema(Document):
    """An input field: `name`, or `stage.name` if the stage has several input stages."""

    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    influence = fields.String(validate=validate.OneOf(INFLUENCES))
    kind = fields.String(validate=validate.OneOf(sorted(KINDS)))


class StageOperationSchema(Document):
    """An operation of a stage."""

    type = fields.String(validate=validate.OneOf(list(OPERATIONS)))
    name = Text(required=True)
    description = Text(empty=True)
    inputs = fields.List(OneOf("TakenField", also=(_NAME,)))
    outputs = fields.List(OutputField())
    source = fields.Nested(DescribedEndPointSchema)
    destination = fields.Nested(DescribedEndPointSchema)


class MutatedFieldSchema(Document):
    """A field with its type, as schemas write types."""

    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    type = Shape({"type": "string"}, {"type": "object"}, {"type": "array", "items": {}})


class MutatedField(OneOf):
    """A field as an object, as JSON text of that object, or by its name alone."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("MutatedField", also=(_NAME,), **kwargs)


class FieldMutationSchema(Document):
    """A field mutation of a stage (seed 000): fields that it renames, deletes, creates or changes."""

    mutation = Text(required=True, metadata={"description": "`rename`, `delete`, `create` or any other word"})
    description = Text(empty=True)
    input_fields = fields.List(MutatedField(), data_key="inputFields")
    output_field = MutatedField(data_key="outputField")
    output_fields = fields.List(MutatedField(), data_key="outputFields")


class StageSchema(Document):
    """A stage of a pipeline."""

    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    plugin = fields.Nested(PluginSchema)
    type = Text(empty=True, metadata={"description": "Where the plugin has none"})
    end_point = OneOf("DescribedEndPoint", also=(_NAME,), data_key="endPoint")
    operations = fields.List(fields.Nested(StageOperationSchema))
    field_mutations = fields.List(fields.Nested(FieldMutationSchema), data_key="fieldMutations")
    input_schema = Shape(_NAMED_SCHEMAS, {}, data_key="inputSchema")
    output_schema = Shape(_SCHEMA_TEXT, _NAMED_SCHEMAS, data_key="outputSchema")


class PipelineConnectionSchema(Document):
    """A connection of two stages."""

    from_ = Text(data_key="from", required=True)
    to = Text(required=True)


class PipelineSchema(Document):
    """A pipeline config."""

    stages = fields.List(fields.Nested(StageSchema), required=True)
    connections = fields.List(fields.Nested(PipelineConnectionSchema))


class PipelineDocumentSchema(Document):
    """A run of a pipeline."""

    namespace = NamespaceMember()
    run = fields.Nested(RunSchema, required=True)
    config = fields.Nested(PipelineSchema, required=True)
    arguments = fields.Dict(
        keys=fields.String(), values=fields.String(), metadata={"description": "Values of macros"}
    )


COMPONENTS = {
    "TakenField": StageInputSchema,
    "MutatedField": MutatedFieldSchema,
    "PipelineDocument": PipelineDocumentSchema,
}
"""Schemas that are referred to by name."""
