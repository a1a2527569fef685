"""JSON patches of lineage aspects: the edges that a patch adds, as an aspect.

The path of one edge is `/upstreams/<urn>`, that of all edges `/upstreams`, and that of a fine-grained entry
`/fineGrainedLineages/<operation or NONE>/<downstream>/<query or NONE>/<upstream>`. Removals are counted only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

from fll_hbase.sources.datahub.proposal import object_without_nulls
from fll_hbase.sources.validation import Validator, child_path, items_with_path

FINE_GRAINED = "fineGrainedLineages"
DESCRIPTION = "description"
_ADDS = ("add", "replace")
_KEY_MEMBERS = {
    "upstreams": "dataset",
    "inputDatasetEdges": "destinationUrn",
    "outputDatasetEdges": "destinationUrn",
    "inputDatasetFields": "destinationUrn",
    "outputDatasetFields": "destinationUrn",
    "fields": "fieldPath",
}
"""By list, the member of an edge whose value is the key in the path."""

# Lists of plain urns, which edges replaced in later versions of DataHub.
_BARE = ("inputDatasets", "outputDatasets")
_NONE = "NONE"


@dataclass(frozen=True, slots=True)
class PatchResult:
    """The added edges as an aspect, and the number of requested removals."""

    aspect: dict[str, Any]
    removals: int


def apply_patch(validator: Validator, value: object, value_path: str) -> PatchResult:
    """Apply a patch (a list, or an object's `patch`) to an empty aspect; removals are only counted."""
    operations, item_path = value, value_path
    if isinstance(value, dict):
        operations, item_path = (
            validator.items(value, "patch", value_path, required=True),
            child_path(value_path, "patch"),
        )
    if not isinstance(operations, list):
        validator.error(value_path, "must be a list of patch operations, or an object with a `patch`")
        return PatchResult({}, 0)
    aspect: dict[str, Any] = {}
    removals = 0
    for op, steps, value, where in validator.readable(
        items_with_path(operations, item_path), partial(_operation, validator)
    ):
        errors_before = validator.errors.count
        if op in _ADDS:
            _add_edges(validator, aspect, steps, value, where)
        else:
            # Removed lineage was valid until now, and queries of earlier windows still return it.
            removals += 1
        validator.leave_out(where, errors_before=errors_before)
    return PatchResult(aspect, removals)


def _operation(validator: Validator, item: object, where: str) -> tuple[str, list[str], object, str]:
    """Return the kind of a patch operation, the steps of its path, its value and its JSON path."""
    data = object_without_nulls(validator, item, where)
    path = (
        validator.optional(data, "path", where)
        # The path of the whole document is empty, which `required` would refuse.
        if "path" in data
        else validator.required(data, "path", where)
    )
    op = validator.choice(data, "op", where, (*_ADDS, "remove", "test", "move", "copy"), "")
    return op, _steps(path), data.get("value"), where


def _steps(path: str) -> list[str]:
    """Return the unescaped steps of a JSON pointer; none for the path of the whole document."""
    # RFC 6901 requires this order: otherwise `~01` would become a slash.
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _add_edges(
    validator: Validator, aspect: dict[str, Any], steps: list[str], value: object, path: str
) -> None:
    """Append what an operation adds or replaces to the lists of `aspect`; only `description` is replaced.

    `steps` are the keys of the operation's path; one that leads to no list of edges is ignored. Errors are
    added at `path`, the JSON path of the operation.
    """
    name, keys = steps[0] if steps else "", steps[1:]
    if steps == [DESCRIPTION]:
        aspect[DESCRIPTION] = value
    elif not keys and isinstance(value, list):
        aspect.setdefault(name, []).extend(value)
    elif not steps and isinstance(value, dict):
        for member, items in value.items():
            if member == DESCRIPTION:
                continue
            aspect.setdefault(member, []).extend(validator.items(value, member, path) if items else [])
    elif name == FINE_GRAINED:
        _add_fine_grained(validator, aspect, keys, value, path)
    elif len(keys) == 1 and name in _KEY_MEMBERS:
        edge = value if isinstance(value, dict) else {}
        aspect.setdefault(name, []).append({_KEY_MEMBERS[name]: _urn(keys[0]), **edge})
    elif len(keys) == 1 and name in _BARE:
        aspect.setdefault(name, []).append(_urn(keys[0]))


def _add_fine_grained(
    validator: Validator, aspect: dict[str, Any], keys: list[str], value: object, path: str
) -> None:
    """Append the entry that the four keys of a path describe; any other number of keys adds an error."""
    if len(keys) != 4:
        path_form = f"/{FINE_GRAINED}/<operation>/<downstream>/<query>/<upstream>"
        validator.error(child_path(path, "path"), f"must be {path_form}")
        return
    operation, downstream, query, upstream = keys
    entry = dict(value) if isinstance(value, dict) else {}
    entry |= {"downstreams": [downstream], "upstreams": [upstream]}
    if operation != _NONE:
        entry["transformOperation"] = operation
    if query != _NONE:
        entry["query"] = query
    aspect.setdefault(FINE_GRAINED, []).append(entry)


def _urn(key: str) -> str:
    """Return the urn of a key."""
    # Emitters of 2023 percent-encode the whole urn.
    return unquote(key) if key.startswith("urn%3A") else key
