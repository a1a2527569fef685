"""Which shapes do documents and answers have: what the OpenAPI document is made of."""

from __future__ import annotations

from typing import Any

import marshmallow as ma
from marshmallow import ValidationError, fields, validate

from fll_hbase.model.operations import KINDS
from fll_hbase.model.runs import START_LIMIT_MS, Direction, State
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

_DIRECTIONS = [direction.value for direction in Direction]
_INFLUENCES = ["direct", "indirect"]


class Text(fields.String):
    """A string as UTF-8: not empty where `required_text`, at most `bytes_max` bytes."""

    def __init__(self, *, bytes_max: int | None = None, empty: bool = False, **kwargs: Any) -> None:
        self._bytes_max = bytes_max
        self._empty = empty
        metadata = dict(kwargs.pop("metadata", {}))
        if not empty:
            metadata["minLength"] = 1
        super().__init__(metadata=metadata, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise ValidationError("holds half of a surrogate pair") from error
        if not value and not self._empty:
            raise ValidationError("must not be empty")
        if self._bytes_max is not None and size > self._bytes_max:
            raise ValidationError(f"is longer than {self._bytes_max} bytes")
        return value


class Document(ma.Schema):
    """Members it does not know are ignored and named in the warnings."""

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
        strict=True,
        validate=validate.Range(min=0, max=START_LIMIT_MS - 1),
        metadata={"description": "Milliseconds since 1970"},
    )
    state = fields.String(
        validate=validate.OneOf([state.value for state in State]), dump_default=State.COMPLETE.value
    )


class DescribedEndPointSchema(Document):
    namespace = Text(bytes_max=ID_BYTES_MAX, metadata={"description": "Default: that of the program"})
    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    description = Text(empty=True)


class TypedFieldSchema(Document):
    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    type = Text(empty=True)


class OneOf(fields.Field[Any]):
    """One of several shapes, chosen by looking at the value."""

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
    origin = Text(required=True, metadata={"description": "The operation whose output it is"})
    name = Text(required=True, bytes_max=NAME_BYTES_MAX)
    influence = fields.String(validate=validate.OneOf(_INFLUENCES))
    kind = fields.String(validate=validate.OneOf(sorted(KINDS)))

    @ma.validates_schema
    def _kind_is_of_indirect(self, data: dict[str, Any], **_: Any) -> None:
        if "kind" in data and data.get("influence", "direct") == "direct":
            raise ValidationError("goes with an indirect influence alone", "kind")


class _OperationSchema(Document):
    name = Text(required=True)
    description = Text(empty=True)


class ReadSchema(_OperationSchema):
    type = fields.String(required=True, validate=validate.Equal("READ"), metadata={"enum": ["READ"]})
    source = fields.Nested(DescribedEndPointSchema, required=True)
    outputs = fields.List(OutputField())


class TransformSchema(_OperationSchema):
    type = fields.String(
        required=True, validate=validate.Equal("TRANSFORM"), metadata={"enum": ["TRANSFORM"]}
    )
    inputs = fields.List(fields.Nested(InputSchema))
    outputs = fields.List(OutputField())


class WriteSchema(_OperationSchema):
    type = fields.String(required=True, validate=validate.Equal("WRITE"), metadata={"enum": ["WRITE"]})
    destination = fields.Nested(DescribedEndPointSchema, required=True)
    inputs = fields.List(fields.Nested(InputSchema))


_OPERATIONS = {"READ": ReadSchema, "TRANSFORM": TransformSchema, "WRITE": WriteSchema}


class OperationField(OneOf):
    """A READ, TRANSFORM or WRITE."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("Read", "Transform", "Write", **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        kind = value.get("type") if isinstance(value, dict) else None
        schema = _OPERATIONS.get(kind) if isinstance(kind, str) else None
        if schema is None:
            raise ValidationError("must be an object with a type of READ, TRANSFORM or WRITE")
        return schema().load(value)


class LineageDocumentSchema(Document):
    """A run with its operations."""

    namespace = Text(
        bytes_max=ID_BYTES_MAX, metadata={"description": "Needed where there is no URL; else it must agree"}
    )
    run = fields.Nested(RunSchema, required=True)
    operations = fields.List(OperationField(), required=True)


class FieldInputSchema(Document):
    field = OutputField(required=True)


class SourceInputSchema(Document):
    source = fields.Nested(DescribedEndPointSchema, required=True)


class FirstDesignInput(OneOf):
    """A source, or a field that an earlier operation made."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("FieldInput", "SourceInput", **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, dict) or ("source" in value) == ("field" in value):
            raise ValidationError("must be an object with either a source or a field")
        return (SourceInputSchema if "source" in value else FieldInputSchema)().load(value)


class FirstDesignOperationSchema(Document):
    name = Text(required=True)
    description = Text(empty=True)
    inputs = fields.List(FirstDesignInput())
    outputs = fields.List(OutputField())


class DestinationSchema(DescribedEndPointSchema):
    """Where the first design's form writes, and what; without fields, all that are alive."""

    fields_ = fields.List(OutputField(), data_key="fields")


class FirstDesignDocumentSchema(Document):
    """A run in the first design's form."""

    namespace = Text(
        bytes_max=ID_BYTES_MAX, metadata={"description": "Needed where there is no URL; else it must agree"}
    )
    run = fields.Nested(RunSchema, required=True)
    destination = fields.Nested(DestinationSchema, required=True)
    operations = fields.List(fields.Nested(FirstDesignOperationSchema), required=True)


class FaultSchema(ma.Schema):
    at = fields.String(required=True, metadata={"description": "A path such as `operations.2.inputs.0`"})
    detail = fields.String(required=True)


class ProblemSchema(ma.Schema):
    """RFC 9457."""

    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    errors = fields.List(fields.Nested(FaultSchema))
    message = fields.String(metadata={"description": "The detail again, where DataHub's clients ask"})


class EndPointSchema(ma.Schema):
    namespace = fields.String(required=True)
    name = fields.String(required=True)


class RecordedSchema(ma.Schema):
    checksum = fields.String(required=True)
    run = fields.String(required=True)
    recorded = fields.Boolean(required=True, metadata={"description": "False for the very same again"})
    replaced = fields.Boolean()
    warnings = fields.List(fields.Nested(FaultSchema))


class EventRecordedSchema(ma.Schema):
    """An event of a run has `run` and `checksum`, one that tells of end points alone `endpoints`."""

    recorded = fields.Boolean(required=True, metadata={"description": "False for the very same again"})
    run = fields.String()
    checksum = fields.String(metadata={"description": "Of what all events of the run come to so far"})
    endpoints = fields.List(fields.Nested(EndPointSchema))


class BatchSummarySchema(ma.Schema):
    received = fields.Integer(required=True)
    successful = fields.Integer(required=True)
    failed = fields.Integer(required=True)
    retriable = fields.Integer(required=True)
    non_retriable = fields.Integer(required=True)


class FailedEventSchema(ma.Schema):
    index = fields.Integer(required=True)
    reason = fields.String(required=True)
    retriable = fields.Boolean(required=True)
    problem = fields.Nested(ProblemSchema, required=True)


class EventsRecordedSchema(ma.Schema):
    status = fields.String(required=True, validate=validate.OneOf(["success", "partial_success", "failure"]))
    summary = fields.Nested(BatchSummarySchema, required=True)
    accepted = fields.Integer(required=True)
    refused = fields.Integer(required=True)
    failed_events = fields.List(fields.Nested(FailedEventSchema), required=True)


class PairSchema(ma.Schema):
    from_ = fields.String(data_key="from", required=True, allow_none=True)
    to = fields.String(required=True, allow_none=True)
    influence = fields.String(validate=validate.OneOf(_INFLUENCES))
    scope = fields.String(validate=validate.OneOf(["dataset"]))


class EntrySchema(ma.Schema):
    source = fields.Nested(EndPointSchema, required=True, allow_none=True)
    destination = fields.Nested(EndPointSchema, required=True, allow_none=True)
    fieldmap = fields.List(fields.Nested(PairSchema), required=True)
    level = fields.Integer(required=True)
    direction = fields.String(required=True, validate=validate.OneOf(_DIRECTIONS))
    unknown_ = fields.Boolean(data_key="unknown")


class DryRunSchema(ma.Schema):
    operations = fields.List(fields.Dict(), required=True)
    checksum = fields.String(required=True)
    lineage = fields.List(fields.Nested(EntrySchema), required=True)
    warnings = fields.List(fields.Nested(FaultSchema), required=True)
    truncated = fields.Boolean()
    truncatedBy = fields.List(fields.String())


class NodeSchema(ma.Schema):
    id = fields.String(required=True)
    label = fields.String(required=True)
    type = fields.String()
    sourceEndPoint = fields.Nested(EndPointSchema)
    destinationEndPoint = fields.Nested(EndPointSchema)
    destinationEndPoints = fields.List(fields.Nested(EndPointSchema))


class OperationSchema(ma.Schema):
    name = fields.String(required=True)
    description = fields.String(required=True)
    type = fields.String(required=True, validate=validate.OneOf(sorted(_OPERATIONS)))
    endPoint = fields.Nested(EndPointSchema)


class ConnectionSchema(ma.Schema):
    from_ = fields.String(data_key="from", required=True)
    to = fields.String(required=True)
    operation = fields.String(required=True)
    operations = fields.List(fields.String())
    influence = fields.String(validate=validate.OneOf(_INFLUENCES))


class _Bounded(ma.Schema):
    truncated = fields.Boolean(required=True)
    truncatedBy = fields.List(fields.String())


class FieldLineageSchema(_Bounded):
    nodes = fields.List(fields.Nested(NodeSchema), required=True)
    operations = fields.List(fields.Nested(OperationSchema), required=True)
    connections = fields.List(fields.Nested(ConnectionSchema), required=True)
    checksums = fields.List(fields.String(), required=True)


class StepSchema(ma.Schema):
    inputs = fields.List(fields.String(), required=True)
    outputs = fields.List(fields.String(), required=True)
    name = fields.String(required=True)
    description = fields.String(required=True)


class PathSchema(ma.Schema):
    operations = fields.List(fields.Nested(StepSchema), required=True)
    runs = fields.List(fields.String(), required=True)


class FieldWaysSchema(_Bounded):
    fieldName = fields.String(required=True)
    startTimeInSeconds = fields.Float(required=True)
    endTimeInSeconds = fields.Float(required=True)
    paths = fields.List(fields.Nested(PathSchema), required=True)


class NamespacesSchema(ma.Schema):
    namespaces = fields.List(fields.String(), required=True)


class ListedEndPointSchema(EndPointSchema):
    description = fields.String()


class EndPointsSchema(ma.Schema):
    endpoints = fields.List(fields.Nested(ListedEndPointSchema), required=True)


class ListedFieldSchema(ma.Schema):
    name = fields.String(required=True)
    type = fields.String()
    read = fields.Boolean(required=True)
    written = fields.Boolean(required=True)


class FieldsSchema(ma.Schema):
    fields_ = fields.List(fields.Nested(ListedFieldSchema), data_key="fields", required=True)


class ResultSchema(EndPointSchema):
    field = fields.String()


class ResultsSchema(ma.Schema):
    results = fields.List(fields.Nested(ResultSchema), required=True)


class RunOfProgramSchema(ma.Schema):
    run = fields.String(required=True)
    namespace = fields.String(required=True)
    application = fields.String(required=True)
    version = fields.String(required=True)
    type = fields.String(required=True)
    program = fields.String(required=True)
    startTime = fields.Integer(required=True)
    checksum = fields.String(required=True)
    state = fields.String(
        validate=validate.OneOf([state.value for state in State]),
        metadata={"description": "Left out where no end was told and nothing was heard of for a day"},
    )
    parent = fields.String(metadata={"description": "The run that started this one"})
    lastEventTime = fields.Integer(metadata={"description": "Of a run whose end was not told"})


class ListedRunSchema(RunOfProgramSchema):
    direction = fields.String(required=True, validate=validate.OneOf(["both", *_DIRECTIONS]))


class OpenLineageEventSchema(ma.Schema):
    """A run event of OpenLineage 2-0-2."""

    eventType = fields.String(required=True, validate=validate.OneOf([state.value for state in State]))
    eventTime = fields.String(required=True)
    producer = fields.String(required=True)
    schemaURL = fields.String(required=True)
    run = fields.Dict(required=True)
    job = fields.Dict(required=True)
    inputs = fields.List(fields.Dict(), required=True)
    outputs = fields.List(fields.Dict(), required=True)


class JobReferenceSchema(ma.Schema):
    namespace = fields.String(required=True)
    name = fields.String(required=True)
    run = fields.String(required=True)


class PhysicalNameSchema(ma.Schema):
    namespace = fields.String(required=True)
    name = fields.String(required=True)
    physicalName = fields.String(required=True)


class EventOfRunSchema(ma.Schema):
    eventTime = fields.Integer(required=True)
    eventType = fields.String(required=True)


class RunToldSchema(RunOfProgramSchema):
    """One run with all that was told of it; members beside these are facts that its source gave."""

    parentJob = fields.Nested(JobReferenceSchema)
    root = fields.Nested(JobReferenceSchema)
    nominalStartTime = fields.String()
    nominalEndTime = fields.String()
    errorMessage = fields.String()
    sql = fields.String()
    physicalNames = fields.List(fields.Nested(PhysicalNameSchema))
    events = fields.List(fields.Nested(EventOfRunSchema), metadata={"description": "As they happened"})


class RunsSchema(ma.Schema):
    runs = fields.List(fields.Nested(ListedRunSchema), required=True)


class HealthSchema(ma.Schema):
    status = fields.String(required=True)


NAMED = {
    "Read": ReadSchema,
    "Transform": TransformSchema,
    "Write": WriteSchema,
    "TypedField": TypedFieldSchema,
    "FieldInput": FieldInputSchema,
    "SourceInput": SourceInputSchema,
    "LineageDocument": LineageDocumentSchema,
    "FirstDesignDocument": FirstDesignDocumentSchema,
    "DryRun": DryRunSchema,
}
"""Schemas that others refer to by name."""
