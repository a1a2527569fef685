"""What does a JSON patch of lineage add: its edges as the aspect that would hold them and nothing else.

A path is `/upstreams/<urn>` for one edge, `/upstreams` for all of them; for a fine-grained one it is
`/fineGrainedLineages/<operation or NONE>/<downstream>/<query or NONE>/<upstream>`. What is taken away was so
until then: it is counted, and windows before keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from fll_hbase.sources.datahub.proposal import told
from fll_hbase.sources.validation import Validator, each, inside

FINE_GRAINED = "fineGrainedLineages"
DESCRIPTION = "description"
_ADDS = ("add", "replace")
_NAMED = {
    "upstreams": "dataset",
    "inputDatasetEdges": "destinationUrn",
    "outputDatasetEdges": "destinationUrn",
    "inputDatasetFields": "destinationUrn",
    "outputDatasetFields": "destinationUrn",
    "fields": "fieldPath",
}
"""The member of an edge that its key in the path stands for."""

_BARE = ("inputDatasets", "outputDatasets")
_NONE = "NONE"


@dataclass(frozen=True, slots=True)
class Patched:
    """What a patch adds, as an aspect, and how many removals it asks for."""

    aspect: dict[str, Any]
    removals: int


def patched(checks: Validator, value: object, at: str) -> Patched:
    """The edges that a patch adds; a bare list of operations, or an object that holds them as `patch`."""
    operations, place = value, at
    if isinstance(value, dict):
        operations, place = checks.items(value, "patch", at, required=True), inside(at, "patch")
    if not isinstance(operations, list):
        checks.error(at, "must be a list of patch operations, or an object with a `patch`")
        return Patched({}, 0)
    aspect: dict[str, Any] = {}
    removals = 0
    for item, where in each(operations, place):
        said = told(checks, item, where)
        if not isinstance(item, dict):
            continue
        path = (
            checks.optional(said, "path", where) if "path" in said else checks.required(said, "path", where)
        )
        steps = _steps(path)
        if checks.choice(said, "op", where, (*_ADDS, "remove", "test", "move", "copy"), "") in _ADDS:
            _add(checks, aspect, steps, said.get("value"), where)
        else:
            removals += 1
    return Patched(aspect, removals)


def _steps(path: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _add(checks: Validator, aspect: dict[str, Any], steps: list[str], value: object, at: str) -> None:
    name, keys = steps[0] if steps else "", steps[1:]
    if steps == [DESCRIPTION]:
        aspect[DESCRIPTION] = value
    elif not keys and isinstance(value, list):
        aspect.setdefault(name, []).extend(value)
    elif not steps and isinstance(value, dict):
        for member, items in value.items():
            if member == DESCRIPTION:
                continue
            aspect.setdefault(member, []).extend(checks.items(value, member, at) if items else [])
    elif name == FINE_GRAINED:
        _add_fine_grained(checks, aspect, keys, value, at)
    elif len(keys) == 1 and name in _NAMED:
        edge = value if isinstance(value, dict) else {}
        aspect.setdefault(name, []).append({_NAMED[name]: _urn(keys[0]), **edge})
    elif len(keys) == 1 and name in _BARE:
        aspect.setdefault(name, []).append(_urn(keys[0]))


def _add_fine_grained(
    checks: Validator, aspect: dict[str, Any], keys: list[str], value: object, at: str
) -> None:
    if len(keys) != 4:
        told_path = f"/{FINE_GRAINED}/<operation>/<downstream>/<query>/<upstream>"
        checks.error(inside(at, "path"), f"must be {told_path}")
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
    """A key as it is, or percent-encoded whole, as emitters of 2023 sent it."""
    return unquote(key) if key.startswith("urn%3A") else key
