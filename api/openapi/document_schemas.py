"""Shapes of the documents that can be recorded, for the OpenAPI document and for tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import marshmallow as ma
from marshmallow import ValidationError, fields, validate

from fll_hbase.model.operations import KINDS
from fll_hbase.model.runs import State
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.sql import ALIASES_MAX, DIALECT_ALIASES, DIALECTS
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

# Requests are parsed by fll_hbase.sources, for all ways of recording alike; tests compare both.

INFLUENCES = ["direct", "indirect"]


class Text(fields.String):
    """A string of at most `bytes_max` bytes as UTF-8; an empty one is valid only with `empty`."""

    def __init__(self, *, bytes_max: int | None = None, empty: bool = False, **kwargs: Any) -> None:
        self._bytes_max = bytes_max
        self._empty = empty
        metadata = dict(kwargs.pop("metadata", {}))
        if not empty:
            metadata["minLength"] = 1
        super().__init__(metadata=metadata, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        """Return the string.

        Raises ValidationError for another type, a surrogate, "" if not allowed, or too many bytes.
        """
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        try:
            # JSON can escape half of a surrogate pair (`\ud800`), which UTF-8 and so a key cannot contain.
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise ValidationError("contains half of a surrogate pair") from error
        if not value and not self._empty:
            raise ValidationError("must not be empty")
        if self._bytes_max is not None and size > self._bytes_max:
            raise ValidationError(f"is longer than {self._bytes_max} bytes")
        return value


class Document(ma.Schema):
    """A document; unknown members are ignored and reported as warnings."""

    class Meta:
        unknown = ma.EXCLUDE


class RunSchema(Document):
    """One run of a program."""

    application = Text(required=True, bytes_max=NAME_BYTES_MAX)
    version = Text(empty=True, bytes_max=NAME_BYTES_MAX)
    type = Text(required=True, bytes_max=NAME_BYTES_MAX)
    program = Text(required=True, bytes_max=NAME_BYTES_MAX)
    run = Text(required=True, bytes_max=ID_BYTES_MAX, metadata={"description": "Unique across namespaces"})
    startTime = fields.Integer(
        required=True,
        # marshmallow would also accept `"5"` and `5.7`.
        strict=True,
        # Not max_inclusive=False: apispec would write the excluded bound as an included one.
        validate=validate.Range(min=0, max=START_LIMIT_MS - 1),
        metadata={"description": "Milliseconds since 1970"},
    )
    state = fields.String(
        validate=validate.OneOf([state.value for state in State]), dump_default=State.COMPLETE.value
    )


class DescribedEndPointSchema(Document):
    """A dataset with its description."""

    namespace = Text(bytes_max=ID_BYTES_MAX, metadata={"description": "Default: that of the program"})
    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    description = Text(empty=True)


class TypedFieldSchema(Document):
    """A field with its type."""

    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    type = Text(empty=True)


class OneOf(fields.Field[Any]):
    """One of several named shapes or of the inline shapes `also`; marshmallow has no unions."""

    def __init__(self, *schemas: str, also: tuple[dict[str, Any], ...] = (), **kwargs: Any) -> None:
        shapes = [*also, *({"$ref": f"#/components/schemas/{name}"} for name in schemas)]
        super().__init__(metadata={"oneOf": shapes}, **kwargs)


class OutputField(OneOf):
    """A name, or a name and a type."""

    def __init__(self, **kwargs: Any) -> None:
        name = {"type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX}
        super().__init__("TypedField", also=(name,), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, dict):
            return TypedFieldSchema().load(value)
        return Text(bytes_max=NAME_BYTES_MAX).deserialize(value, attr, data)


class InputSchema(Document):
    """An input field of an operation."""

    origin = Text(required=True, metadata={"description": "The operation whose output it is"})
    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    influence = fields.String(validate=validate.OneOf(INFLUENCES))
    # Sorted, because the order of a set differs between processes, and the document must not.
    kind = fields.String(validate=validate.OneOf(sorted(KINDS)))

    @ma.validates_schema
    def _check_kind(self, data: dict[str, Any], **_: Any) -> None:
        """Raise ValidationError for a `kind` of a direct input."""
        if "kind" in data and data.get("influence", "direct") == "direct":
            raise ValidationError("only for an indirect influence", "kind")


class _OperationSchema(Document):
    """The members of every operation."""

    name = Text(required=True)
    description = Text(empty=True)


class ReadSchema(_OperationSchema):
    """An operation that reads a dataset."""

    type = fields.String(required=True, validate=validate.Equal("READ"), metadata={"enum": ["READ"]})
    source = fields.Nested(DescribedEndPointSchema, required=True)
    outputs = fields.List(OutputField())


class TransformSchema(_OperationSchema):
    """An operation that derives fields."""

    type = fields.String(
        required=True, validate=validate.Equal("TRANSFORM"), metadata={"enum": ["TRANSFORM"]}
    )
    inputs = fields.List(fields.Nested(InputSchema))
    outputs = fields.List(OutputField())


class WriteSchema(_OperationSchema):
    """An operation that writes a dataset."""

    type = fields.String(required=True, validate=validate.Equal("WRITE"), metadata={"enum": ["WRITE"]})
    destination = fields.Nested(DescribedEndPointSchema, required=True)
    inputs = fields.List(fields.Nested(InputSchema))


OPERATIONS = {"READ": ReadSchema, "TRANSFORM": TransformSchema, "WRITE": WriteSchema}


class OperationField(OneOf):
    """A READ, TRANSFORM or WRITE, by its member `type`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("Read", "Transform", "Write", **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        """Load an operation with the schema of its `type`. Raises ValidationError."""
        kind = value.get("type") if isinstance(value, dict) else None
        # A list or object as `type` cannot be looked up in a dict: it raises TypeError.
        schema = OPERATIONS.get(kind) if isinstance(kind, str) else None
        if schema is None:
            raise ValidationError("must be an object with a type of READ, TRANSFORM or WRITE")
        return schema().load(value)


class NamespaceMember(Text):
    """The namespace of the program; in a request it is optional, as the URL contains it."""

    def __init__(self) -> None:
        description = "Required where there is no URL; else it must be the same"
        super().__init__(bytes_max=ID_BYTES_MAX, metadata={"description": description})


class LineageDocumentSchema(Document):
    """A run with its operations."""

    namespace = NamespaceMember()
    run = fields.Nested(RunSchema, required=True)
    operations = fields.List(OperationField(), required=True)


class FieldInputSchema(Document):
    """An input that is an output of an earlier operation."""

    field = OutputField(required=True)


class SourceInputSchema(Document):
    """An input that is a dataset."""

    source = fields.Nested(DescribedEndPointSchema, required=True)


class FirstDesignInput(OneOf):
    """A source dataset, or an output field of an earlier operation."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("FieldInput", "SourceInput", **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        """Load an input with either `source` or `field`. Raises ValidationError."""
        if not isinstance(value, dict) or ("source" in value) == ("field" in value):
            raise ValidationError("must be an object with either a source or a field")
        return (SourceInputSchema if "source" in value else FieldInputSchema)().load(value)


class FirstDesignOperationSchema(Document):
    """An operation of the name-based form."""

    name = Text(required=True)
    description = Text(empty=True)
    inputs = fields.List(FirstDesignInput())
    outputs = fields.List(OutputField())


class DestinationSchema(DescribedEndPointSchema):
    """The destination of the name-based form; without `fields`, all that were not dropped are written."""

    written_fields = fields.List(OutputField(), data_key="fields")


class FirstDesignDocumentSchema(Document):
    """A run in the name-based form."""

    namespace = NamespaceMember()
    run = fields.Nested(RunSchema, required=True)
    destination = fields.Nested(DestinationSchema, required=True)
    operations = fields.List(fields.Nested(FirstDesignOperationSchema), required=True)


class SqlDefaultsSchema(ma.Schema):
    """Catalog and schema of names of tables that have none; other members are refused."""

    class Meta:
        unknown = ma.RAISE

    catalog = Text(empty=True, bytes_max=NAME_BYTES_MAX, metadata={"example": "shop"})
    schema = Text(empty=True, bytes_max=NAME_BYTES_MAX, metadata={"example": "public"})


class SqlDocumentSchema(Document):
    """A run with the SQL statements that it executed."""

    namespace = NamespaceMember()
    run = fields.Nested(RunSchema, required=True)
    sql = Text(required=True, metadata={"description": "One statement, or several with `;` between them"})
    dialect = fields.String(validate=validate.OneOf((*DIALECTS, *DIALECT_ALIASES)), dump_default=DIALECTS[0])
    schema = fields.Dict(
        keys=fields.String(),
        values=fields.List(OutputField()),
        metadata={"description": "The columns of tables, in their order"},
    )
    defaults = fields.Nested(SqlDefaultsSchema)
    dataset_namespace = Text(
        empty=True,
        bytes_max=ID_BYTES_MAX,
        data_key="datasetNamespace",
        metadata={
            "description": "Namespace of the tables in OpenLineage or DataHub: the form of their names",
            "example": "postgres://db:5432",
        },
    )
    alias_namespaces = fields.List(
        Text(bytes_max=ID_BYTES_MAX),
        validate=validate.Length(max=ALIASES_MAX),
        data_key="aliasNamespaces",
        metadata={"description": "Other namespaces in which the tables have names", "example": ["postgres"]},
    )


class DbtDocumentSchema(Document):
    """The artifacts of one dbt invocation, as dbt writes them; docs/sources/dbt.md."""

    namespace = NamespaceMember()
    dataset_namespace = Text(
        empty=True,
        bytes_max=ID_BYTES_MAX,
        data_key="datasetNamespace",
        metadata={"description": "Namespace of the datasets, such as postgres://host:5432"},
    )
    manifest = fields.Dict(required=True, metadata={"description": "manifest.json"})
    catalog = fields.Dict(metadata={"description": "catalog.json"})
    run_results = fields.Dict(data_key="runResults", metadata={"description": "run_results.json"})


COMPONENTS = {
    "Read": ReadSchema,
    "Transform": TransformSchema,
    "Write": WriteSchema,
    "TypedField": TypedFieldSchema,
    "FieldInput": FieldInputSchema,
    "SourceInput": SourceInputSchema,
    "LineageDocument": LineageDocumentSchema,
    "FirstDesignDocument": FirstDesignDocumentSchema,
    "SqlDefaults": SqlDefaultsSchema,
    "SqlDocument": SqlDocumentSchema,
    "DbtDocument": DbtDocumentSchema,
}
"""Schemas that are referred to by name."""


@dataclass(frozen=True, slots=True)
class RequestShape:
    """The OpenAPI description of the documents of a format: named schemas, and notes for users."""

    schemas: tuple[str, ...] = ()
    notes: str = ""


REQUESTS = {
    "lineage": RequestShape(("LineageDocument", "FirstDesignDocument")),
    "sql": RequestShape(
        ("SqlDocument",),
        "Columns that a statement does not name come from `schema`, else from the catalogue; warnings list "
        "what could not be resolved.",
    ),
    "pipelines": RequestShape(
        ("PipelineDocument",),
        "The stages of its config become operations; `arguments` are values of macros. Warnings list what "
        "is unknown.",
    ),
    "dbt": RequestShape(
        ("DbtDocument",),
        "One run for each model, seed and snapshot that dbt built, with the columns of the catalog.",
    ),
}
"""Descriptions by name of the format; any other format is described as a JSON object."""
