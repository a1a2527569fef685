"""Bodies of requests that put tags and policies, read with every error at once."""

from __future__ import annotations

from typing import Any, NamedTuple

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.tags import AgePolicy, MaxAge, TagNote, parse_max_age
from fll_hbase.runtime.errors import FieldError, UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator

_NO_AGE = MaxAge("", 0)


class NoteBody(NamedTuple):
    """The note of a tag, and a warning for each unknown member."""

    note: TagNote
    warnings: tuple[FieldError, ...]


class PolicyBody(NamedTuple):
    """A policy without its time, and a warning for each unknown member."""

    policy: AgePolicy
    warnings: tuple[FieldError, ...]


def read_note(raw: bytes) -> NoteBody:
    """Read the body of a tag. Raises UnreadableDocument with every error."""
    validator = Validator()
    members = validator.members(strict_json.parse(raw), "", ("by", "description"))
    note = TagNote(
        by=validator.optional(members, "by", "", bytes_max=ID_BYTES_MAX),
        description=validator.optional(members, "description", "", bytes_max=NAME_BYTES_MAX),
    )
    _raise_errors(validator)
    return NoteBody(note, tuple(validator.warnings))


def read_policy(raw: bytes, *, name: str) -> PolicyBody:
    """Read the body of the policy with a name. Raises UnreadableDocument with every error."""
    validator = Validator()
    names = ("name", "maxAge", "tag", "field", "description")
    members = validator.members(strict_json.parse(raw), "", names)
    if members.get("name", name) != name:
        validator.error("name", f"differs from the name in the URL, {name!r}")
    if ("tag" in members) == ("field" in members):
        validator.error("", "must have either `tag` or `field`")
    policy = AgePolicy(
        name=name,
        max_age=_max_age(validator, members),
        tag=validator.required(members, "tag", "", bytes_max=ID_BYTES_MAX) if "tag" in members else "",
        field=_field(validator, members["field"]) if "field" in members else None,
        description=validator.optional(members, "description", "", bytes_max=NAME_BYTES_MAX),
        at_ms=0,
    )
    _raise_errors(validator)
    return PolicyBody(policy, tuple(validator.warnings))


def _max_age(validator: Validator, members: dict[str, Any]) -> MaxAge:
    """Read `maxAge`; a placeholder with an error if it is missing or invalid."""
    text = validator.required(members, "maxAge", "")
    # Of a missing member or one that is no text there is an error already.
    if not isinstance(members.get("maxAge"), str) or not members["maxAge"]:
        return _NO_AGE
    try:
        return parse_max_age(text)
    except ValueError as error:
        validator.error("maxAge", str(error))
        return _NO_AGE


def _field(validator: Validator, value: object) -> DatasetField:
    """Read a field by its three names; `?` with errors for missing ones."""
    members = validator.members(value, "field", ("namespace", "name", "field"))
    # Of a value that is no object, missing members say nothing more.
    if not isinstance(value, dict):
        return DatasetField(Dataset("?", "?"), "?")
    namespace = validator.required(members, "namespace", "field", bytes_max=ID_BYTES_MAX)
    name = validator.required(members, "name", "field", bytes_max=NAME_BYTES_MAX)
    return DatasetField(
        Dataset(namespace, name), validator.required(members, "field", "field", bytes_max=NAME_BYTES_MAX)
    )


def _raise_errors(validator: Validator) -> None:
    if validator.errors:
        raise UnreadableDocument(validator.errors)
