"""Heads of artifacts: what manifest, catalog and run results have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fll_hbase.errors import FieldError
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.openlineage.json_access import members, text
from fll_hbase.sources.validation import Validator, child_path

_SCHEMA_VERSION = re.compile(r"/dbt/([a-z-]+)/v([0-9]{1,6})\.json")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """One of dbt's artifacts: its member in our document, dbt's word for it, the schema versions read."""

    member: str
    word: str
    version_min: int
    version_max: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact whose head was read; `data` is all of its JSON.

    One that is no object, or has no head, was reported: members that it lacks for that are no more errors.
    """

    data: dict[str, Any]
    metadata: dict[str, Any]
    invocation_id: str
    generated_at_ms: int
    is_object: bool = True
    has_head: bool = True


MANIFEST = ArtifactKind("manifest", "manifest", 9, 12)
CATALOG = ArtifactKind("catalog", "catalog", 1, 1)
RUN_RESULTS = ArtifactKind("runResults", "run-results", 4, 6)
DATASET_NAMESPACE = "datasetNamespace"
"""The member with the namespace of datasets, which no artifact has."""


def read_artifact(validator: Validator, document: dict[str, Any], kind: ArtifactKind) -> Artifact:
    """Read the head that all artifacts have; the schema versions are those of schemas.getdbt.com.

    An older version than is read is a fault, a newer one is read like the newest and named in the warnings.
    """
    data = members(validator, document.get(kind.member), kind.member)
    is_object = isinstance(document.get(kind.member), dict)
    path = child_path(kind.member, "metadata")
    metadata = members(validator, data.get("metadata"), path) if is_object else {}
    if not isinstance(data.get("metadata"), dict):
        return Artifact(data, metadata, "", 0, is_object=is_object, has_head=False)
    _check_version(validator, metadata, kind, path)
    generated_at_ms = read_time_ms(validator, metadata, "generated_at", path)
    return Artifact(data, metadata, text(validator, metadata, "invocation_id", path), generated_at_ms)


def read_time_ms(validator: Validator, holder: dict[str, Any], name: str, path: str) -> int:
    """Milliseconds since 1970 of an ISO 8601 time, rounded down; a time without a zone is UTC."""
    value = text(validator, holder, name, path, required=True)
    try:
        time = datetime.fromisoformat(value)
        elapsed = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        if value != "?":
            validator.error(
                child_path(path, name), f"{value[:100]!r} is not a time such as 2026-01-31T09:30:00.000Z"
            )
        return 0
    time_ms = (elapsed.days * 86_400 + elapsed.seconds) * 1_000 + elapsed.microseconds // 1_000
    if not 0 <= time_ms < START_LIMIT_MS:
        validator.error(child_path(path, name), f"{value[:100]!r} is before 1970")
    return max(time_ms, 0)


def _check_version(validator: Validator, metadata: dict[str, Any], kind: ArtifactKind, path: str) -> None:
    url = text(validator, metadata, "dbt_schema_version", path, required=True)
    path = child_path(path, "dbt_schema_version")
    match = _SCHEMA_VERSION.search(url)
    if match is None or match[1] != kind.word:
        if url != "?":
            validator.error(path, f"{url[:100]!r} is not the schema of a dbt {kind.word}")
        return
    version = int(match[2])
    if version < kind.version_min:
        validator.error(path, f"v{version} is too old: v{kind.version_min} is the oldest that is read")
    elif version > kind.version_max:
        newest = f"v{kind.version_max}"
        validator.warnings.append(
            FieldError(path, f"v{version} is newer than {newest}, and read like {newest}")
        )
