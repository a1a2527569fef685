"""Answers of diffs, written by hand."""

from __future__ import annotations

from typing import Any

from tests.support.lineage_documents import Json


def diff_body(
    gained: Json | None = None, lost: Json | None = None, *, common: int = 0, **members: Any
) -> Json:
    """The diff of a field; kinds of parts that are not given are empty."""
    none: Json = {"operations": [], "edges": [], "sources": [], "derivations": []}
    body = {"gained": {**none, **(gained or {})}, "lost": {**none, **(lost or {})}, "kept": common}
    return {**body, "truncated": "truncatedBy" in members, **members}


def operation(name: str, description: str = "", type: str = "TRANSFORM", **members: Any) -> Json:
    return {"name": name, "description": description, "type": type, **members}


def way(digit: str, runs: int = 2) -> Json:
    starts = {"firstStart": 1_700_000_000_000, "lastStart": 1_700_003_600_000} if runs else {}
    return {"digest": digit * 32, "checksum": f"c{digit * 31}", "runs": runs, **starts}


def link(start: str, end: str, **members: Any) -> Json:
    return {"from": start, "to": end, "operation": end.rpartition(".")[0], **members}
