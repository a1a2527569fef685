"""Shapes of the queries and answers of DataHub's routes."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from fll_hbase.sources.datahub import AspectOutcome, MessageFormat
from fll_hbase.sources.datahub.aspect_responses import KEY, SCHEMA

from ..wire.query_params import CountParam, FlagParam, NoParams, RecordParams
from .answer_schemas import DryRunsSchema, EntrySchema, FaultSchema, RecordedSchema

DELETE = "delete"
_ASPECT_FORMS = [MessageFormat.PROPOSAL.value, MessageFormat.PROPOSALS.value, MessageFormat.FILE.value]
_ENTITY_FORMS = [MessageFormat.SNAPSHOT.value, MessageFormat.SNAPSHOTS.value, DELETE]


class AspectsParams(RecordParams):
    """Query of POST /aspects."""

    action = fields.String(required=True, validate=validate.OneOf(_ASPECT_FORMS))


class EntitiesParams(RecordParams):
    """Query of POST /entities."""

    action = fields.String(required=True, validate=validate.OneOf(_ENTITY_FORMS))


class OpenApiParams(RecordParams):
    """Options of the newer protocol, accepted without effect."""

    # Listed because DataHub's clients send them, and unknown parameters are refused.
    asynchronous = FlagParam(data_key="async", metadata={"description": "Every answer here is durable"})
    create_if_not_exists = FlagParam(data_key="createIfNotExists")
    create_entity_if_not_exists = FlagParam(data_key="createEntityIfNotExists")
    system_metadata = FlagParam(data_key="systemMetadata")


class AspectParams(NoParams):
    """Query of GET /aspects: the aspect to return."""

    aspect = fields.String(required=True, metadata={"description": f"`{KEY}` or `{SCHEMA}`"})
    # Sent by DataHub's clients; only the current version of an aspect exists here.
    version = CountParam(load_default=0)


class AspectCountSchema(ma.Schema):
    """The number of proposals of one aspect with one outcome."""

    aspect = fields.String(required=True)
    outcome = fields.String(
        required=True, validate=validate.OneOf([outcome.value for outcome in AspectOutcome])
    )
    count = fields.Integer(required=True)


class IngestedEntitySchema(ma.Schema):
    """The outcomes of the proposals of one entity, and the runs that were recorded of them."""

    urn = fields.String(required=True)
    aspects = fields.List(fields.Nested(AspectCountSchema), required=True)
    runs = fields.List(fields.Nested(RecordedSchema), required=True)


class IngestedSchema(ma.Schema):
    """An answer of the older protocol; DataHub's clients read `value` alone."""

    value = fields.Raw(allow_none=True)
    entities = fields.List(fields.Nested(IngestedEntitySchema), required=True)
    warnings = fields.List(
        fields.Nested(FaultSchema), metadata={"description": "Parts that were left out, and why"}
    )


class MessageDryRunSchema(DryRunsSchema):
    """The dry runs of a message; the members of a single one are members of the answer, too."""

    operations = fields.List(fields.Dict())
    checksum = fields.String()
    lineage = fields.List(fields.Nested(EntrySchema))
    truncated = fields.Boolean()
    truncatedBy = fields.List(fields.String())


class ConfigSchema(ma.Schema):
    """The configuration of a DataHub server, of which only the important members are described."""

    class Meta:
        unknown = ma.INCLUDE

    no_code = fields.String(data_key="noCode", required=True)
    patch_capable = fields.Boolean(data_key="patchCapable", required=True)
    versions = fields.Dict(required=True)


class AspectSchema(ma.Schema):
    """An aspect of a dataset, below the name of its class in DataHub."""

    version = fields.Integer(required=True)
    aspect = fields.Dict(required=True)


COMPONENTS = {"Ingested": IngestedSchema, "MessageDryRun": MessageDryRunSchema}
"""Schemas that are referred to by name."""
