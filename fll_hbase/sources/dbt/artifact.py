"""Heads of artifacts: the metadata that manifest, catalog and run results share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fll_hbase.sources.openlineage.json_access import members, text
from fll_hbase.sources.time_member import read_time_ms
from fll_hbase.sources.validation import Validator, child_path

_SCHEMA_VERSION = re.compile(r"/dbt/([a-z-]+)/v([0-9]{1,6})\.json")


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """One of dbt's artifacts: member of the document, name in schema URLs, schema versions (inclusive)."""

    member: str
    word: str
    version_min: int
    version_max: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact with a parsed head; `data` is all of its JSON.

    `generated_at_ms` is in ms since 1970, 0 if it cannot be read. If `is_object` is false, that error is
    reported already, and missing members are not.
    """

    data: dict[str, Any]
    metadata: dict[str, Any]
    invocation_id: str
    generated_at_ms: int
    is_object: bool = True


# Manifest v9 is that of dbt 1.5, the oldest version with golden cases (tests/golden/dbt).
MANIFEST = ArtifactKind("manifest", "manifest", 9, 12)
CATALOG = ArtifactKind("catalog", "catalog", 1, 1)
RUN_RESULTS = ArtifactKind("runResults", "run-results", 4, 6)
DATASET_NAMESPACE = "datasetNamespace"
"""The member with the namespace of datasets, which artifacts do not contain."""


def read_artifact(validator: Validator, document: dict[str, Any], kind: ArtifactKind) -> Artifact:
    """Parse the head of an artifact; schema versions are those of schemas.getdbt.com.

    A version below `kind.version_min` adds an error, one above `kind.version_max` a warning.
    """
    data = members(validator, document.get(kind.member), kind.member)
    is_object = isinstance(document.get(kind.member), dict)
    path = child_path(kind.member, "metadata")
    metadata = members(validator, data.get("metadata"), path) if is_object else {}
    if not isinstance(data.get("metadata"), dict):
        return Artifact(data, metadata, "", 0, is_object=is_object)
    _check_version(validator, metadata, kind, path)
    errors_before = validator.errors.count
    generated_at_ms = read_time_ms(validator, metadata, "generated_at", path)
    # Few runs start at this time, and for them there are others: see `runs.read_invocation`.
    if validator.leave_out(child_path(path, "generated_at"), errors_before=errors_before):
        generated_at_ms = 0
    return Artifact(data, metadata, text(validator, metadata, "invocation_id", path), generated_at_ms)


def _check_version(validator: Validator, metadata: dict[str, Any], kind: ArtifactKind, path: str) -> None:
    """Add an error for another schema or one that is too old, a warning for a newer one."""
    errors_before = validator.errors.count
    url = text(validator, metadata, "dbt_schema_version", path, required=True)
    if validator.errors.count > errors_before:
        return
    path = child_path(path, "dbt_schema_version")
    match = _SCHEMA_VERSION.search(url)
    if match is None or match[1] != kind.word:
        validator.error(path, f"{url[:100]!r} is not the schema of a dbt {kind.word}")
        return
    version = int(match[2])
    if version < kind.version_min:
        validator.error(path, f"v{version} is too old: v{kind.version_min} is the oldest that is read")
    # Not refused: an upgrade of dbt must not stop recording.
    elif version > kind.version_max:
        newest = f"v{kind.version_max}"
        validator.warning(path, f"v{version} is newer than {newest}, and read like {newest}")
