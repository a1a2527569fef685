"""Proposals, each of one aspect of one entity, and JSON patches: the edges that a patch adds, as an aspect.

`/upstreams/<urn>` is the path of one edge, `/upstreams` of all edges, and a fine-grained entry has the path
`/fineGrainedLineages/<operation or NONE>/<downstream>/<query or NONE>/<upstream>`. Removals are only counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import unquote

from fll_hbase.sources.validation import Part

UPSERT = "UPSERT"
PATCH = "PATCH"
DELETE = "DELETE"
FINE_GRAINED = "fineGrainedLineages"
DESCRIPTION = "description"
_ADDS = ("add", "replace", "move", "copy")
_REMOVES = ("remove", "move")
_KEY_MEMBERS = {
    "upstreams": "dataset",
    "inputDatasetEdges": "destinationUrn",
    "outputDatasetEdges": "destinationUrn",
    "inputDatasetFields": "destinationUrn",
    "outputDatasetFields": "destinationUrn",
    "fields": "fieldPath",
}
"""For each list, the member of its edges that contains the key in the path."""

# Lists of plain urns, which later versions of DataHub replaced by edges.
_BARE = ("inputDatasets", "outputDatasets")
_NONE = "NONE"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of one aspect of one entity.

    `value` is the parsed JSON of the aspect, null for a deletion. `urn_path` is the JSON path of the urn.
    `observed_ms` is the time at which the client observed the aspect, in ms since 1970, or 0 if unknown.
    """

    urn: str
    aspect: str
    change: str
    value: Part
    urn_path: str
    observed_ms: int


def without_nulls(part: Part) -> Part:
    """Return an object without its nulls; allow unknown members, and add an error for other values."""
    # DataHub's clients write null for unset members.
    members = {name: member for name, member in part.as_object().members.items() if member is not None}
    return Part(part.validator, members, part.path) if part.is_object else part


def apply_patch(part: Part) -> tuple[Part, int]:
    """Return the edges that a patch (a list, or an object's `patch`) adds, and the number of removals.

    An unreadable operation is left out with a warning; a patch of another type adds an error.
    """
    if not isinstance(part.value, (dict, list)):
        part.error("must be a list of patch operations, or an object with a `patch`")
    aspect: dict[str, Any] = {}
    removals = 0
    for item in part.items("patch", required=True) if part.is_object else part.listed():
        operation = item.readable(_operation)
        if operation is None:
            continue
        # A moved or copied edge is the edge that its new path names.
        if operation.kind in _ADDS:
            item.readable(partial(_add_edges, aspect, operation))
        # Removed lineage was valid before, and queries of earlier windows still return it.
        removals += operation.kind in _REMOVES
    return Part(part.validator, aspect, part.path), removals


class _Operation(NamedTuple):
    """A patch operation: its kind, the unescaped steps of its path, and its value.

    A path without steps is the path of the whole document.
    """

    kind: str
    steps: list[str]
    value: object


def _operation(item: Part) -> _Operation:
    """Read a patch operation; add errors for a missing path or unknown `op`."""
    data = without_nulls(item)
    # The path of the whole document is empty, which `required` would refuse.
    path = data.optional("path") if "path" in data else data.required("path")
    kind = data.choice("op", (*_ADDS, "remove", "test"), "")
    # RFC 6901 requires this order; the reverse would turn `~01` into a slash.
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    return _Operation(kind, steps, data.get("value"))


def _add_edges(aspect: dict[str, Any], operation: _Operation, item: Part) -> None:
    """Add what an operation adds to the lists of `aspect`, or replace `description`; ignore other paths."""
    steps, value = operation.steps, operation.value
    name, keys = steps[0] if steps else "", steps[1:]
    if steps == [DESCRIPTION]:
        aspect[DESCRIPTION] = value
    elif not keys and isinstance(value, list):
        aspect.setdefault(name, []).extend(value)
    elif not steps and isinstance(value, dict):
        added = Part(item.validator, value, item.path)
        for member in (name for name in value if name != DESCRIPTION):
            listed = added.items(member) if value[member] else ()
            aspect.setdefault(member, []).extend(edge.value for edge in listed)
    elif name == FINE_GRAINED:
        _add_fine_grained(aspect, keys, value, item)
    elif len(keys) == 1 and name in _KEY_MEMBERS:
        edge = value if isinstance(value, dict) else {}
        aspect.setdefault(name, []).append({_KEY_MEMBERS[name]: _urn(keys[0]), **edge})
    elif len(keys) == 1 and name in _BARE:
        aspect.setdefault(name, []).append(_urn(keys[0]))


def _add_fine_grained(aspect: dict[str, Any], keys: list[str], value: object, item: Part) -> None:
    """Append the entry described by the four keys of a path; add an error for any other number of keys."""
    if len(keys) != 4:
        path_form = f"/{FINE_GRAINED}/<operation>/<downstream>/<query>/<upstream>"
        item.error(f"must be {path_form}", "path")
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
    """Return the urn in a step of a path, percent-decoded if the whole urn is encoded."""
    # Emitters of 2023 percent-encode the whole urn.
    return unquote(key) if key.startswith("urn%3A") else key
