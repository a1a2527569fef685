"""Tags and policies as JSON of the REST contract, shared by API and clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fll_hbase.model.tags import AgePolicy, FieldTag
from fll_hbase.queries import name_json
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.inherited_tags import PathTag


def tag(field_tag: FieldTag) -> Json:
    """Return a tag of a field; empty members of its note are left out."""
    body = {**name_json.field(field_tag.field), "tag": field_tag.tag, "at": field_tag.at_ms}
    if field_tag.note.by:
        body["by"] = field_tag.note.by
    if field_tag.note.description:
        body["description"] = field_tag.note.description
    return body


def inherited_tag(path_tag: PathTag) -> Json:
    """Return a tag with its path, from the field that has it to the one that it is about."""
    return {**tag(path_tag.tag), "path": [name_json.field(step) for step in path_tag.path]}


def truncation(truncated_by: Sequence[str]) -> Json:
    """Return the members that say whether an answer is complete."""
    body: Json = {"truncated": bool(truncated_by)}
    return body | ({"truncatedBy": list(truncated_by)} if truncated_by else {})


def tagged_fields(name: str, field_tags: Iterable[FieldTag]) -> Json:
    """Return a tag with the fields that have it."""
    return {"tag": name, "fields": [tag(field_tag) for field_tag in field_tags]}


def policy(age_policy: AgePolicy) -> Json:
    """Return a policy."""
    body: Json = {"name": age_policy.name, "maxAge": age_policy.max_age.text, "at": age_policy.at_ms}
    if age_policy.field is not None:
        body["field"] = name_json.field(age_policy.field)
    else:
        body["tag"] = age_policy.tag
    if age_policy.description:
        body["description"] = age_policy.description
    return body
