"""Shapes of the documents that can be recorded, for the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import marshmallow as ma
import msgspec
from msgspec import Meta

from fll_hbase.model.operations import KINDS
from fll_hbase.model.runs import State
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.sql import ALIASES_MAX, DIALECT_ALIASES, DIALECTS
from fll_hbase.sources.validation import NAME_BYTES_MAX

# fll_hbase.sources parses requests, for all ways of recording alike; tests compare it with these schemas.
# Lengths are limited in bytes, which a schema cannot state.

# After the description, as in earlier releases, so that the document stays the same byte for byte.
Text = Annotated[str, Meta(extra_json_schema={"minLength": 1})]
ShortText = Annotated[str, Meta(min_length=1, max_length=NAME_BYTES_MAX)]
Influence = Literal["direct", "indirect"]
# Sorted, because the order of a set differs between processes, and the document must not.
Kind = Annotated[str, Meta(extra_json_schema={"enum": sorted(KINDS)})]
_OwnNamespace = Annotated[
    Text, Meta(description="Required if the URL names no namespace, otherwise equal to that namespace")
]

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


class Document(msgspec.Struct, rename="camel"):
    """A document; unknown members are ignored and reported as warnings."""

    other_members: ClassVar[str] = ma.EXCLUDE


class Run(Document, kw_only=True):
    """One run of a program."""

    application: Text
    version: str = ""
    type: Text
    program: Text
    run: Annotated[Text, Meta(description="Unique across namespaces")]
    # `le` instead of `lt`, which apispec would write as an inclusive maximum.
    start_time: Annotated[int, Meta(ge=0, le=START_LIMIT_MS - 1, description="Milliseconds since 1970")]
    state: State = State.COMPLETE


class DescribedEndPoint(Document, kw_only=True):
    """A dataset with its description."""

    namespace: Annotated[Text, Meta(description="Default: the namespace of the program")] = ""
    name: Text
    description: str = ""


class TypedField(Document):
    """A field with its type."""

    name: Text
    type: str = ""


class Input(Document):
    """An input field of an operation."""

    origin: Annotated[Text, Meta(description="The operation whose output it is")]
    name: Text
    influence: Influence = "direct"
    kind: Kind = ""


class NamedOperation(Document):
    """The members of every operation."""

    name: Text
    description: str = ""


class Read(NamedOperation, kw_only=True):
    """An operation that reads a dataset."""

    type: Literal["READ"]
    source: DescribedEndPoint
    outputs: tuple[ShortText | TypedField, ...] = ()


class Transform(NamedOperation, kw_only=True):
    """An operation that derives fields."""

    type: Literal["TRANSFORM"]
    inputs: tuple[Input, ...] = ()
    outputs: tuple[ShortText | TypedField, ...] = ()


class Write(NamedOperation, kw_only=True):
    """An operation that writes a dataset."""

    type: Literal["WRITE"]
    destination: DescribedEndPoint
    inputs: tuple[Input, ...] = ()
    unknown_origins: Annotated[
        tuple[Text, ...],
        Meta(
            description="READs whose relation to it is unknown. If given, no other READ of the run is related"
        ),
    ] = ()


class RunDocument(Document, kw_only=True):
    """A document about a run, with the namespace of its program."""

    namespace: _OwnNamespace = ""
    run: Run


class LineageDocument(RunDocument, kw_only=True):
    """A run with its operations."""

    operations: tuple[Read | Transform | Write, ...]


class FieldInput(Document):
    """An input that is an output of an earlier operation."""

    field: ShortText | TypedField


class SourceInput(Document):
    """An input that is a dataset."""

    source: DescribedEndPoint


class FirstDesignOperation(NamedOperation):
    """An operation of the name-based form."""

    inputs: tuple[FieldInput | SourceInput, ...] = ()
    outputs: tuple[ShortText | TypedField, ...] = ()


class Destination(DescribedEndPoint, kw_only=True):
    """The destination of the name-based form. Without `fields`, all that were not dropped are written."""

    fields: tuple[ShortText | TypedField, ...] = ()


class FirstDesignDocument(RunDocument, kw_only=True):
    """A run in the name-based form."""

    destination: Destination
    operations: tuple[FirstDesignOperation, ...]


class SqlDefaults(msgspec.Struct):
    """Default catalog and schema for names of tables without them; other members are refused."""

    catalog: Annotated[str, Meta(extra_json_schema={"example": "shop"})] = ""
    schema: Annotated[str, Meta(extra_json_schema={"example": "public"})] = ""


class SqlDocument(RunDocument, kw_only=True):
    """A run with the SQL statements that it executed."""

    sql: Annotated[Text, Meta(description="One statement, or several with `;` between them")]
    dialect: Annotated[str, Meta(extra_json_schema={"enum": [*DIALECTS, *DIALECT_ALIASES]})] = DIALECTS[0]
    schema: Annotated[
        dict[str, tuple[ShortText | TypedField, ...]] | None,
        Meta(description="The columns of tables, in their order"),
    ] = None
    defaults: SqlDefaults | None = None
    dataset_namespace: Annotated[
        str,
        Meta(
            description="Namespace of the tables in OpenLineage or DataHub: the form of their names",
            extra_json_schema={"example": "postgres://db:5432"},
        ),
    ] = ""
    alias_namespaces: Annotated[
        tuple[Text, ...],
        Meta(
            description="Other namespaces in which the tables have names",
            max_length=ALIASES_MAX,
            extra_json_schema={"example": ["postgres"]},
        ),
    ] = ()


class DbtDocument(Document, kw_only=True):
    """The artifacts of one dbt invocation, as dbt writes them; docs/record/dbt.md."""

    namespace: _OwnNamespace = ""
    dataset_namespace: Annotated[
        str, Meta(description="Namespace of the datasets, such as postgres://host:5432")
    ] = ""
    manifest: Annotated[dict[str, Any], Meta(description="manifest.json")]
    catalog: Annotated[dict[str, Any] | None, Meta(description="catalog.json")] = None
    run_results: Annotated[dict[str, Any] | None, Meta(description="run_results.json")] = None


COMPONENTS: tuple[type[msgspec.Struct], ...] = (
    Read,
    Transform,
    Write,
    TypedField,
    FieldInput,
    SourceInput,
    LineageDocument,
    FirstDesignDocument,
    SqlDefaults,
    SqlDocument,
    DbtDocument,
)
"""Shapes that are referred to by name."""


# Only the members that lineage needs: configs are sent as CDAP exports them, and the rest is ignored.


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


PIPELINE_COMPONENTS: tuple[type[msgspec.Struct], ...] = (StageInput, MutatedField, PipelineDocument)
"""Shapes that are referred to by name."""
