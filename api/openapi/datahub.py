"""Which shapes do DataHub's clients send and expect: queries and answers of its routes."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from api.openapi.schemas import RecordedSchema
from api.query_params import Count, Flag, NoQuery, RecordQuery
from fll_hbase.sources.datahub import Form, Outcome
from fll_hbase.sources.datahub.aspect_responses import KEY, SCHEMA

DELETE = "delete"
_ASPECT_FORMS = [Form.PROPOSAL.value, Form.PROPOSALS.value, Form.FILE.value]
_ENTITY_FORMS = [Form.SNAPSHOT.value, Form.SNAPSHOTS.value, DELETE]


class AspectsQuery(RecordQuery):
    action = fields.String(required=True, validate=validate.OneOf(_ASPECT_FORMS))


class EntitiesQuery(RecordQuery):
    action = fields.String(required=True, validate=validate.OneOf(_ENTITY_FORMS))


class OpenApiQuery(RecordQuery):
    """What the newer protocol asks for: all of it is so anyway, or makes no difference here."""

    asynchronous = Flag(data_key="async", metadata={"description": "Every answer here is durable"})
    create_if_not_exists = Flag(data_key="createIfNotExists")
    create_entity_if_not_exists = Flag(data_key="createEntityIfNotExists")
    system_metadata = Flag(data_key="systemMetadata")


class AspectQuery(NoQuery):
    aspect = fields.String(required=True, metadata={"description": f"`{KEY}` or `{SCHEMA}`"})
    version = Count(load_default=0)


class AspectCountSchema(ma.Schema):
    aspect = fields.String(required=True)
    outcome = fields.String(required=True, validate=validate.OneOf([outcome.value for outcome in Outcome]))
    count = fields.Integer(required=True)


class IngestedEntitySchema(ma.Schema):
    """What became of the proposals of one entity, and the runs that they were recorded as."""

    urn = fields.String(required=True)
    aspects = fields.List(fields.Nested(AspectCountSchema), required=True)
    runs = fields.List(fields.Nested(RecordedSchema), required=True)


class IngestedSchema(ma.Schema):
    """An answer of the older protocol; what it says beside `value` DataHub's clients ignore."""

    value = fields.Raw(allow_none=True)
    entities = fields.List(fields.Nested(IngestedEntitySchema), required=True)


class DryRunsSchema(ma.Schema):
    """What would be recorded: one dry run for each run, in order."""

    runs = fields.List(fields.Dict(), required=True)


class ConfigSchema(ma.Schema):
    """What a server of DataHub tells of itself; there is more than this."""

    class Meta:
        unknown = ma.INCLUDE

    no_code = fields.String(data_key="noCode", required=True)
    patch_capable = fields.Boolean(data_key="patchCapable", required=True)
    versions = fields.Dict(required=True)


class AspectSchema(ma.Schema):
    version = fields.Integer(required=True)
    aspect = fields.Dict(required=True)


NAMED = {"Ingested": IngestedSchema, "DryRuns": DryRunsSchema}
"""Schemas that others refer to by name."""
