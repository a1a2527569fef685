"""Schemas of answers to documents, for the OpenAPI document alone: see `queries/acknowledgements.py`."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.queries.names import DatasetName
from fll_hbase.queries.query import Fault

from .query_schemas import body_schema

# Not executed, as an answer may have 250,000 pairs; tests compare real answers with these shapes.


FaultSchema = body_schema(Fault)


EndPointSchema = body_schema(DatasetName)
EntrySchema = body_schema(LineageEntry)


class ProblemSchema(ma.Schema):
    """A problem of RFC 9457, the body of every error."""

    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    errors = fields.List(fields.Nested(FaultSchema))
    message = fields.String(metadata={"description": "The detail again, for DataHub's clients"})


class RecordedSchema(ma.Schema):
    """The acknowledgement of one run."""

    checksum = fields.String(required=True)
    run = fields.String(required=True)
    recorded = fields.Boolean(required=True, metadata={"description": "False for a repeated document"})
    replaced = fields.Boolean()
    warnings = fields.List(fields.Nested(FaultSchema))


class RecordedRunsSchema(ma.Schema):
    """A document of several runs: the acknowledgement of each, in order."""

    runs = fields.List(fields.Nested(RecordedSchema), required=True)
    warnings = fields.List(fields.Nested(FaultSchema))


class EventRecordedSchema(ma.Schema):
    """The acknowledgement of an event: `run` and `checksum`, or `endpoints` for an event without a run."""

    recorded = fields.Boolean(required=True, metadata={"description": "False for a repeated document"})
    run = fields.String()
    checksum = fields.String(metadata={"description": "Of the merged events of the run so far"})
    endpoints = fields.List(fields.Nested(EndPointSchema))
    warnings = fields.List(
        fields.Nested(FaultSchema), metadata={"description": "Parts that were left out, and why"}
    )


class BatchSummarySchema(ma.Schema):
    """Counts of a batch of events."""

    # The names in snake case here and below are those of OpenLineage's API.
    received = fields.Integer(required=True)
    successful = fields.Integer(required=True)
    failed = fields.Integer(required=True)
    retriable = fields.Integer(required=True)
    non_retriable = fields.Integer(required=True)


class FailedEventSchema(ma.Schema):
    """A refused event of a batch."""

    index = fields.Integer(required=True)
    reason = fields.String(required=True)
    retriable = fields.Boolean(required=True)
    problem = fields.Nested(ProblemSchema, required=True)


class WarnedEventSchema(ma.Schema):
    """A recorded event of a batch with parts that were left out."""

    index = fields.Integer(required=True)
    warnings = fields.List(fields.Nested(FaultSchema), required=True)


class EventsRecordedSchema(ma.Schema):
    """The result of a batch of events."""

    status = fields.String(required=True, validate=validate.OneOf(["success", "partial_success", "failure"]))
    summary = fields.Nested(BatchSummarySchema, required=True)
    accepted = fields.Integer(required=True)
    refused = fields.Integer(required=True)
    failed_events = fields.List(fields.Nested(FailedEventSchema), required=True)
    warned_events = fields.List(fields.Nested(WarnedEventSchema))


class DryRunSchema(ma.Schema):
    """The dry run of one run."""

    operations = fields.List(fields.Dict(), required=True)
    checksum = fields.String(required=True)
    lineage = fields.List(fields.Nested(EntrySchema), required=True)
    warnings = fields.List(fields.Nested(FaultSchema), required=True)
    truncated = fields.Boolean()
    truncatedBy = fields.List(fields.String())


class HealthSchema(ma.Schema):
    """The state of the process or of its store."""

    status = fields.String(required=True)


class DryRunsSchema(ma.Schema):
    """The dry runs of a document of several runs, in order."""

    runs = fields.List(fields.Dict(), required=True)
    warnings = fields.List(fields.Nested(FaultSchema))


# Names are part of the published document: generated clients name their classes after them.
COMPONENTS = {
    "DryRun": DryRunSchema,
    "DryRuns": DryRunsSchema,
    "RecordedRuns": RecordedRunsSchema,
}
"""Schemas that are referred to by name, or whose name differs from that of the class."""
