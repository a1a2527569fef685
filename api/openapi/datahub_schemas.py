"""Shapes of the queries and answers of DataHub's routes."""

from __future__ import annotations

from typing import Any, ClassVar

import marshmallow as ma
import msgspec
from marshmallow import fields, validate

from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.queries.query import Fault
from fll_hbase.sources.datahub import AspectOutcome, MessageFormat
from fll_hbase.sources.datahub.aspect_responses import KEY, SCHEMA

from ..wire.query_params import CountParam, FlagParam, NoParams, RecordParams
from .answer_schemas import LeftOut, Recorded

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
    # Sent by DataHub's clients. Only the current version of an aspect exists here.
    version = CountParam(load_default=0)


class AspectCount(msgspec.Struct):
    """The number of proposals of one aspect with one outcome."""

    aspect: str
    outcome: AspectOutcome
    count: int


class IngestedEntity(msgspec.Struct):
    """The outcomes of the proposals of one entity, and the runs recorded from them."""

    urn: str
    aspects: tuple[AspectCount, ...]
    runs: tuple[Recorded, ...]


class Ingested(msgspec.Struct, kw_only=True):
    """An answer of the older protocol; DataHub's clients read `value` alone."""

    value: Any = None
    entities: tuple[IngestedEntity, ...]
    warnings: LeftOut = ()


class MessageDryRun(msgspec.Struct, rename="camel"):
    """The dry runs of a message. If it has only one, its members are also members of the answer."""

    runs: tuple[dict[str, Any], ...]
    warnings: tuple[Fault, ...] = ()
    operations: tuple[dict[str, Any], ...] = ()
    checksum: str = ""
    lineage: tuple[LineageEntry, ...] = ()
    truncated: bool = False
    truncated_by: tuple[str, ...] = ()


class Config(msgspec.Struct, rename="camel"):
    """The configuration of a DataHub server, with only the important members described."""

    other_members: ClassVar[str] = ma.INCLUDE

    no_code: str
    patch_capable: bool
    versions: dict[str, Any]


class Aspect(msgspec.Struct):
    """An aspect of a dataset, under the name of its class in DataHub."""

    version: int
    aspect: dict[str, Any]


COMPONENTS: tuple[type[msgspec.Struct], ...] = (Ingested, MessageDryRun)
"""Shapes that are referred to by name."""
