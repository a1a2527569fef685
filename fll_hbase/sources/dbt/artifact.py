"""Artifacts: the folder into which dbt writes them, their head, the catalog's columns, and results of nodes.

A result has start, state, message and code of a node that one invocation of dbt built.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fll_hbase.model.datasets import Field
from fll_hbase.model.runs import State
from fll_hbase.runtime.errors import FieldError, TooLarge, UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.validation import NAME_BYTES_MAX, Part, readable

_SCHEMA_VERSION = re.compile(r"/dbt/([a-z-]+)/v([0-9]{1,6})\.json")

BUILDS_NOTHING = frozenset({"compile", "docs", "generate", "list", "ls", "parse", "show"})
"""Commands that write run results but only compile; the name of `docs generate` there is `generate`."""

_STATES = {
    "success": State.COMPLETE,
    # Some batches of the model were written, so its lineage applies.
    "partial success": State.COMPLETE,
    "error": State.FAIL,
    "fail": State.FAIL,
    "runtime error": State.FAIL,
}
"""State by status. Nodes with any other status, such as `skipped`, built nothing."""

FILE_BYTES_MAX = 512 * 2**20
"""Size limit of one artifact; a manifest has about 20 kB per model."""

_LEFT_OUT = ("macros", "docs", "parent_map", "child_map", "group_map", "disabled", "selectors", "groups")
"""Members of a manifest without lineage, which make up most of its size in small projects."""

_LEFT_OUT_OF_NODES = (
    *("raw_code", "docs", "fqn", "refs", "sources", "metrics", "extra_ctes", "unrendered_config"),
)


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """One of dbt's artifacts: member of the document, name in schema URLs, inclusive schema versions."""

    member: str
    word: str
    version_min: int
    version_max: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact with a parsed head; `data` is its entire JSON.

    `generated_at_ms` is in ms since 1970, 0 if unreadable. If `data` is not an object, that error is already
    reported, and missing members are not reported.
    """

    data: Part
    metadata: Part
    invocation_id: str
    generated_at_ms: int


# Manifest v9 is written by dbt 1.5, the oldest version with golden cases (tests/golden/dbt).
MANIFEST = ArtifactKind("manifest", "manifest", 9, 12)
CATALOG = ArtifactKind("catalog", "catalog", 1, 1)
RUN_RESULTS = ArtifactKind("runResults", "run-results", 4, 6)
_FILES = {
    "manifest.json": MANIFEST.member,
    "catalog.json": CATALOG.member,
    "run_results.json": RUN_RESULTS.member,
}
DATASET_NAMESPACE = "datasetNamespace"
"""The member with the namespace of datasets, which artifacts do not contain."""


def read_artifact(document: Part, kind: ArtifactKind) -> Artifact:
    """Parse the head of an artifact; schemas.getdbt.com defines the schema versions.

    A version below `kind.version_min` adds an error, a version above `kind.version_max` a warning.
    """
    data = document.member(kind.member).as_object()
    metadata = data.member("metadata")
    if data.is_object:
        metadata.as_object()
    if not metadata.is_object:
        return Artifact(data, metadata, "", 0)
    _check_version(metadata, kind)
    # Few runs start at this time, and they have other times to use: see `document.read_invocation`.
    generated_at_ms = metadata.member("generated_at").readable(lambda _: metadata.time_ms("generated_at"))
    return Artifact(data, metadata, metadata.text("invocation_id"), generated_at_ms or 0)


def _check_version(metadata: Part, kind: ArtifactKind) -> None:
    """Add an error for a missing, wrong or too old schema, and a warning for a newer schema."""
    errors_before = metadata.validator.errors.count
    url = metadata.required("dbt_schema_version")
    if metadata.validator.errors.count > errors_before:
        return
    part = metadata.member("dbt_schema_version")
    match = _SCHEMA_VERSION.search(url)
    if match is None or match[1] != kind.word:
        part.error(f"{url[:100]!r} is not the schema of a dbt {kind.word}")
        return
    version = int(match[2])
    if version < kind.version_min:
        part.error(f"v{version} is too old: v{kind.version_min} is the oldest that is read")
    # Only a warning, since an upgrade of dbt must not stop recording.
    elif version > kind.version_max:
        newest = f"v{kind.version_max}"
        part.warning(f"v{version} is newer than {newest}, and read like {newest}")


def read_catalog(artifact: Artifact) -> dict[str, tuple[Field, ...]]:
    """Return the columns of nodes and sources in the database, as found by dbt, by unique id.

    The columns are in table order. Tables without readable columns are left out.
    """
    fields: dict[str, tuple[Field, ...]] = {}
    for member in ("nodes", "sources"):
        for unique_id, table in artifact.data.optional_object(member).member_parts():
            fields[unique_id] = _fields(table.as_optional_object().optional_object("columns"))
    # Tables without columns in the catalog use the columns that the project declares.
    return {unique_id: columns for unique_id, columns in fields.items() if columns}


def _fields(columns: Part) -> tuple[Field, ...]:
    """Return a table's readable columns, sorted by their `index`; warn of others and leave them out."""
    indexed = readable((column for _, column in columns.member_parts()), _indexed_field)
    # `SELECT *` and writes by position depend on the order, and adapters may write JSON objects in another.
    return tuple(field for _, field in sorted(indexed, key=lambda item: item[0]))


def _indexed_field(column: Part) -> tuple[int, Field]:
    """Return a column as a field, with its ordinal, or 0 if the adapter does not write it."""
    name = column.as_object().required("name", bytes_max=NAME_BYTES_MAX)
    index = column.get("index")
    return index if isinstance(index, int) else 0, Field(name, column.text("type"))


@dataclass(frozen=True, slots=True)
class NodeResult:
    """Result of one node. `start_ms` is in ms since 1970, 0 if unknown. `code` is empty before dbt 1.7."""

    unique_id: str
    path: str
    state: State
    start_ms: int
    message: str
    code: str


@dataclass(frozen=True, slots=True)
class RunResults:
    """Results of one invocation by unique id; `passed_over` counts nodes that built nothing, by status."""

    artifact: Artifact
    command: str
    results: dict[str, NodeResult]
    passed_over: Counter[str]


def read_run_results(artifact: Artifact, types: tuple[str, ...]) -> RunResults:
    """Parse the results of nodes of `types`, leaving out unreadable and repeated results with a warning.

    Nodes that built nothing, such as skipped nodes, have no result but are counted in `passed_over`.
    """
    data = artifact.data
    args = data.optional_object("args")
    results: dict[str, NodeResult] = {}
    passed_over: Counter[str] = Counter()
    for item in data.items("results", required=data.is_object):
        key = item.readable(lambda part: (part.as_object().required("unique_id"), part.required("status")))
        # A unique id such as `test.shop.x` begins with the type; tests and hooks have results, too.
        if key is None or key[0].partition(".")[0] not in types:
            continue
        unique_id, status = key
        if status not in _STATES:
            passed_over[status] += 1
        elif unique_id in results:
            item.warning(f"{unique_id!r} has a result already: {results[unique_id].path}; left out")
        else:
            results[unique_id] = NodeResult(
                unique_id=unique_id,
                path=item.path,
                state=_STATES[status],
                start_ms=_start_ms(item),
                message=item.text("message"),
                code=item.text("compiled_code"),
            )
    return RunResults(artifact, args.text("which"), results, passed_over)


def _start_ms(result: Part) -> int:
    """Return the start of the execution, else of the compilation, in ms since 1970; 0 if both are missing."""
    starts: dict[str, int] = {}
    for timing in result.optional_items("timing"):
        if timing.as_optional_object().get("started_at") is not None:
            name = timing.text("name")
            start_ms = timing.readable(lambda part: part.time_ms("started_at"))
            if start_ms is not None:
                starts[name] = start_ms
    return starts.get("execute") or starts.get("compile") or 0


def read_target(
    path: Path, *, dataset_namespace: str = "", bytes_max: int = FILE_BYTES_MAX
) -> dict[str, Any]:
    """Read manifest.json and, if they exist, catalog.json and run_results.json into one document for `read`.

    The datasets are in `dataset_namespace`. Parts of the manifest that `read` ignores are left out. Raises
    UnreadableDocument without a manifest, or for a file that is unreadable or not JSON, and TooLarge for a
    file of more than `bytes_max` bytes.
    """
    document = {
        member: _read_file(path / name, bytes_max)
        for name, member in _FILES.items()
        # The manifest is required; opening a missing file raises the error that names it.
        if member == MANIFEST.member or (path / name).is_file()
    }
    _prune(document[MANIFEST.member])
    if dataset_namespace:
        document[DATASET_NAMESPACE] = dataset_namespace
    return document


def _read_file(path: Path, bytes_max: int) -> Any:
    """Parse a file of at most `bytes_max` bytes. Raises UnreadableDocument with its path, TooLarge."""
    try:
        with path.open("rb") as file:
            # One more byte than allowed shows that a file is too large without reading all of it.
            raw = file.read(bytes_max + 1)
    except OSError as error:
        detail = f"{error.strerror}: give the target folder of a dbt project, where dbt has written it"
        raise UnreadableDocument([FieldError(str(path), detail)]) from error
    if len(raw) > bytes_max:
        raise TooLarge(f"{path} is larger than {bytes_max} bytes")
    try:
        return strict_json.parse_with_halves(raw)
    except UnreadableDocument as error:
        raise UnreadableDocument([FieldError(str(path), fault.detail) for fault in error.errors]) from error


def _prune(manifest: Any) -> None:
    """Remove members without lineage from a manifest and its nodes, in place; ignore other JSON."""
    # The file may contain any JSON; `read` reports anything that is not a manifest.
    if not isinstance(manifest, dict):
        return
    for member in _LEFT_OUT:
        manifest.pop(member, None)
    nodes = manifest.get("nodes")
    for node in nodes.values() if isinstance(nodes, dict) else ():
        for member in _LEFT_OUT_OF_NODES if isinstance(node, dict) else ():
            node.pop(member, None)
