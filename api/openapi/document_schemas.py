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
