"""Shape of a document with a CDAP pipeline config, for the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from .document_schemas import (
    DescribedEndPoint,
    Document,
    Influence,
    Kind,
    RunDocument,
    ShortText,
    Text,
    TypedField,
)

# Only the members that lineage needs: configs are sent as CDAP exports them, and the rest is ignored.

# CDAP stores the schema of a record as JSON text within JSON.
_SCHEMA_TEXT = {
    "anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}],
    "description": "A record's, as JSON text or JSON",
}
_NAMED_SCHEMAS = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "schema": _SCHEMA_TEXT}},
}
_TYPES = [{"type": "string"}, {"type": "object"}, {"type": "array", "items": {}}]


class Plugin(Document):
    """The plugin of a stage. Its type decides whether the stage is a source, sink, joiner or transform."""

    type: Annotated[str, Meta(description="Such as `batchsource`, `transform`, `batchsink`")] = ""
    properties: Annotated[
        dict[str, Any] | None, Meta(description="`referenceName` names the dataset, `schema` the fields")
    ] = None


class StageInput(Document):
    """An input field: `name`, or `stage.name` if the stage has several input stages."""

    schema_name: ClassVar[str] = "TakenField"

    name: Text
    influence: Influence = "direct"
    kind: Kind = ""


class StageOperation(Document, kw_only=True):
    """An operation of a stage."""

    type: Literal["READ", "TRANSFORM", "WRITE"] = "TRANSFORM"
    name: Text
    description: str = ""
    inputs: tuple[ShortText | StageInput, ...] = ()
    outputs: tuple[ShortText | TypedField, ...] = ()
    source: DescribedEndPoint | None = None
    destination: DescribedEndPoint | None = None


class MutatedField(Document):
    """A field with its type, as schemas write types, also JSON text of this object, or the name alone."""

    name: Text
    type: Annotated[Any, Meta(extra_json_schema={"anyOf": _TYPES})] = None


class FieldMutation(Document):
    """A field mutation of a stage: fields that it renames, deletes, creates or changes."""

    mutation: Annotated[Text, Meta(description="`rename`, `delete`, `create` or any other word")]
    description: str = ""
    input_fields: tuple[ShortText | MutatedField, ...] = ()
    output_field: ShortText | MutatedField = ""
    output_fields: tuple[ShortText | MutatedField, ...] = ()


class Stage(Document):
    """A stage of a pipeline."""

    name: Text
    plugin: Plugin | None = None
    type: Annotated[str, Meta(description="Where the plugin has none")] = ""
    end_point: ShortText | DescribedEndPoint = ""
    operations: tuple[StageOperation, ...] = ()
    field_mutations: tuple[FieldMutation, ...] = ()
    input_schema: Annotated[Any, Meta(extra_json_schema={"anyOf": [_NAMED_SCHEMAS, {}]})] = None
    output_schema: Annotated[Any, Meta(extra_json_schema={"anyOf": [_SCHEMA_TEXT, _NAMED_SCHEMAS]})] = None


class PipelineConnection(Document):
    """A connection of two stages."""

    begin: Text = msgspec.field(name="from")
    to: Text


class Pipeline(Document):
    """A pipeline config."""

    stages: tuple[Stage, ...]
    connections: tuple[PipelineConnection, ...] = ()


class PipelineDocument(RunDocument, kw_only=True):
    """A run of a pipeline."""

    config: Pipeline
    arguments: Annotated[dict[str, str] | None, Meta(description="Values of macros")] = None


COMPONENTS: tuple[type[msgspec.Struct], ...] = (StageInput, MutatedField, PipelineDocument)
"""Shapes that are referred to by name."""
