"""Bodies of requests that put tags and policies; errors are reported together."""

from __future__ import annotations

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.flow_policy import INFLUENCES, VALUE, FlowPolicy, pattern_fault
from fll_hbase.model.tags import AgePolicy, MaxAge, TagNote, parse_max_age
from fll_hbase.runtime.errors import FieldError
from fll_hbase.sources import strict_json
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, Validator

_NO_AGE = MaxAge("", 0)

_FLOW_MEMBERS = ("into", "onlyInto", "influence", "unlessMasked")


def read_note(raw: bytes) -> tuple[TagNote, tuple[FieldError, ...]]:
    """Return the note in the body of a tag, and a warning for each unknown member.

    Raises UnreadableDocument with every error, and TooLarge.
    """
    body = Part(Validator(), strict_json.parse(raw)).with_members("by", "description")
    note = TagNote(
        by=body.optional("by", bytes_max=ID_BYTES_MAX),
        description=body.optional("description", bytes_max=NAME_BYTES_MAX),
    )
    return note, _warnings(body)


def read_policy(raw: bytes, *, name: str) -> tuple[AgePolicy | FlowPolicy, tuple[FieldError, ...]]:
    """Return the policy named `name`, without its time, and a warning for each unknown member of its body.

    A body with a member of flow policies is one. Raises UnreadableDocument with every error, and TooLarge.
    """
    body = Part(Validator(), strict_json.parse(raw))
    body.with_members("name", "maxAge", "tag", "field", "description", *_FLOW_MEMBERS)
    if body.get("name", name) != name:
        body.error(f"differs from the name in the URL, {name!r}", "name")
    if any(member in body for member in _FLOW_MEMBERS):
        flow = _read_flow(body, name)
        return flow, _warnings(body)
    if ("tag" in body) == ("field" in body):
        body.error("must have either `tag` or `field`")
    policy = AgePolicy(
        name=name,
        max_age=_max_age(body),
        tag=body.required("tag", bytes_max=ID_BYTES_MAX) if "tag" in body else "",
        field=_field(body.member("field")) if "field" in body else None,
        description=body.optional("description", bytes_max=NAME_BYTES_MAX),
        at_ms=0,
    )
    return policy, _warnings(body)


def _read_flow(body: Part, name: str) -> FlowPolicy:
    """Read a flow policy; add an error for each member that is missing, invalid or of another policy."""
    for member in ("maxAge", "field"):
        if member in body:
            body.error("not a member of a flow policy, which has a `tag` and `into` or `onlyInto`", member)
    if "into" not in body and "onlyInto" not in body:
        body.error("must have `into` or `onlyInto`")
    if type(body.get("unlessMasked", False)) is not bool:
        body.error("must be true or false", "unlessMasked")
    return FlowPolicy(
        name=name,
        tag=body.required("tag", bytes_max=ID_BYTES_MAX),
        into=_pattern(body, "into"),
        only_into=_pattern(body, "onlyInto"),
        influence=body.choice("influence", INFLUENCES, VALUE),
        unless_masked=body.get("unlessMasked") is True,
        description=body.optional("description", bytes_max=NAME_BYTES_MAX),
        at_ms=0,
    )


def _pattern(body: Part, member: str) -> str:
    """Read a pattern of datasets, "" if it is missing."""
    if member not in body:
        return ""
    text = body.required(member, bytes_max=NAME_BYTES_MAX)
    if text == body.get(member) and (fault := pattern_fault(text)):
        body.error(fault, member)
    return text


def _max_age(body: Part) -> MaxAge:
    """Read `maxAge`, or return a placeholder with an error if it is missing or invalid."""
    text = body.required("maxAge")
    # A missing member, or a value other than a string, already has an error.
    if text != body.get("maxAge"):
        return _NO_AGE
    try:
        return parse_max_age(text)
    except ValueError as error:
        body.error(str(error), "maxAge")
        return _NO_AGE


def _field(part: Part) -> DatasetField:
    """Read a field by its three names, with `?` and errors for missing names."""
    part.with_members("namespace", "name", "field")
    # For a value other than an object, errors about missing members would add nothing.
    if not part.is_object:
        return DatasetField(Dataset("?", "?"), "?")
    namespace = part.required("namespace", bytes_max=ID_BYTES_MAX)
    name = part.required("name", bytes_max=NAME_BYTES_MAX)
    return DatasetField(Dataset(namespace, name), part.required("field", bytes_max=NAME_BYTES_MAX))


def _warnings(body: Part) -> tuple[FieldError, ...]:
    """Return the warnings about a body. Raises UnreadableDocument if there are errors."""
    body.validator.check()
    return tuple(body.validator.warnings)
