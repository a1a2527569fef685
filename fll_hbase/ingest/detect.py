"""Which source is a document from, and which run is it of: told from a glance, before it is read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import msgspec


class Form(Enum):
    """The form of a document; for our own, the last segment of the route that takes it."""

    LINEAGE = "lineage"
    SQL = "sql"
    PIPELINES = "pipelines"
    OPENLINEAGE = "openlineage"
    DATAHUB = "datahub"


@dataclass(frozen=True, slots=True)
class Glance:
    """What was seen at a glance; `run` and `namespace` are empty where they are not to be found."""

    form: Form
    run: str = ""
    namespace: str | None = None


class _Run(msgspec.Struct):
    run: str = ""
    run_id: str = msgspec.field(default="", name="runId")


class _Members(msgspec.Struct):
    """What of a document says which form it has."""

    operations: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    event_time: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw, name="eventTime")
    sql: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    config: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    entity_urn: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw, name="entityUrn")
    snapshot: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw, name="proposedSnapshot")
    urn: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _Head(_Members):
    run: _Run = msgspec.field(default_factory=_Run)
    namespace: str | None = None


_HEADS, _MEMBERS = msgspec.json.Decoder(_Head), msgspec.json.Decoder(_Members)


def glance(raw: bytes) -> Glance:
    """Never fails: what is no document at all looks like one of ours, and is refused when it is read."""
    try:
        head = _HEADS.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return Glance(_form_alone(raw))
    form = _form(head)
    if form is Form.DATAHUB:
        return Glance(form)
    return Glance(form, head.run.run_id if form is Form.OPENLINEAGE else head.run.run, head.namespace)


def _form_alone(raw: bytes) -> Form:
    """The form of a document whose run or namespace is none."""
    try:
        return _form(_MEMBERS.decode(raw))
    except (msgspec.MsgspecError, RecursionError):
        return Form.LINEAGE


def _form(members: _Members) -> Form:
    if bytes(members.operations):
        return Form.LINEAGE
    if bytes(members.event_time):
        return Form.OPENLINEAGE
    if bytes(members.sql):
        return Form.SQL
    if bytes(members.config):
        return Form.PIPELINES
    if any(map(bytes, (members.entity_urn, members.snapshot, members.urn))):
        return Form.DATAHUB
    return Form.LINEAGE
