"""Which shape does a document with a pipeline config have; what CDAP keeps there beside it is passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields, validate

from api.openapi.schemas import DescribedEndPointSchema, Document, OneOf, OutputField, RunSchema, Text
from fll_hbase.model.operations import KINDS
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

_NAME = {"type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX}
_SCHEMA_TEXT = {"type": ["string", "object", "null"], "description": "A record's, as JSON text or JSON"}
_NAMED_SCHEMAS = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "schema": _SCHEMA_TEXT}},
}


class Shape(fields.Field[Any]):
    """A member that is described here and read elsewhere."""

    def __init__(self, *shapes: Mapping[str, object], **kwargs: Any) -> None:
        super().__init__(metadata={"anyOf": list(shapes)}, **kwargs)


class PluginSchema(Document):
    """What a stage runs; its type says whether it is a source, a sink or a joiner."""

    type = Text(empty=True, metadata={"description": "Such as `batchsource`, `transform`, `batchsink`"})
    properties = fields.Dict(
        metadata={"description": "`referenceName` names the end point, `schema` the fields"}
    )


class TakenFieldSchema(Document):
    """`name`, or `stage.name` where several stages lead here."""

    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    influence = fields.String(validate=validate.OneOf(["direct", "indirect"]))
    kind = fields.String(validate=validate.OneOf(sorted(KINDS)))


class StageOperationSchema(Document):
    type = fields.String(validate=validate.OneOf(["READ", "TRANSFORM", "WRITE"]))
    name = Text(required=True)
    description = Text(empty=True)
    inputs = fields.List(OneOf("TakenField", also=(_NAME,)))
    outputs = fields.List(OutputField())
    source = fields.Nested(DescribedEndPointSchema)
    destination = fields.Nested(DescribedEndPointSchema)


class MutatedFieldSchema(Document):
    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    type = Shape({"type": ["string", "object", "array"]})


class MutatedField(OneOf):
    """A field with its type as schemas have types, or its name, or JSON text of the first."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("MutatedField", also=(_NAME,), **kwargs)


class FieldMutationSchema(Document):
    mutation = Text(required=True, metadata={"description": "`rename`, `delete`, `create` or any other word"})
    description = Text(empty=True)
    input_fields = fields.List(MutatedField(), data_key="inputFields")
    output_field = MutatedField(data_key="outputField")
    output_fields = fields.List(MutatedField(), data_key="outputFields")


class StageSchema(Document):
    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    plugin = fields.Nested(PluginSchema)
    type = Text(empty=True, metadata={"description": "Where the plugin tells none"})
    end_point = OneOf("DescribedEndPoint", also=(_NAME,), data_key="endPoint")
    operations = fields.List(fields.Nested(StageOperationSchema))
    field_mutations = fields.List(fields.Nested(FieldMutationSchema), data_key="fieldMutations")
    input_schema = Shape(_NAMED_SCHEMAS, {}, data_key="inputSchema")
    output_schema = Shape(_SCHEMA_TEXT, _NAMED_SCHEMAS, data_key="outputSchema")


class PipelineConnectionSchema(Document):
    from_ = Text(data_key="from", required=True)
    to = Text(required=True)


class PipelineSchema(Document):
    stages = fields.List(fields.Nested(StageSchema), required=True)
    connections = fields.List(fields.Nested(PipelineConnectionSchema))


class PipelineDocumentSchema(Document):
    """A run of a pipeline."""

    namespace = Text(
        bytes_max=ID_BYTES_MAX, metadata={"description": "Needed where there is no URL; else it must agree"}
    )
    run = fields.Nested(RunSchema, required=True)
    config = fields.Nested(PipelineSchema, required=True)
    arguments = fields.Dict(
        keys=fields.String(), values=fields.String(), metadata={"description": "What macros stand for"}
    )


NAMED = {
    "TakenField": TakenFieldSchema,
    "MutatedField": MutatedFieldSchema,
    "PipelineDocument": PipelineDocumentSchema,
}
"""Schemas that others refer to by name."""
