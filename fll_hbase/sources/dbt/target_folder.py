"""Target folder of a dbt project: its artifacts as one document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fll_hbase.runtime.errors import FieldError, TooLarge, UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.dbt.artifact import CATALOG, DATASET_NAMESPACE, MANIFEST, RUN_RESULTS

FILE_BYTES_MAX = 512 * 2**20
"""Size limit of one artifact; a manifest has about 20 kB per model."""

_FILES = {
    "manifest.json": MANIFEST.member,
    "catalog.json": CATALOG.member,
    "run_results.json": RUN_RESULTS.member,
}
_LEFT_OUT = ("macros", "docs", "parent_map", "child_map", "group_map", "disabled", "selectors", "groups")
"""Members of a manifest without lineage, which make up most of its size in small projects."""

_LEFT_OUT_OF_NODES = (
    *("raw_code", "docs", "fqn", "refs", "sources", "metrics", "extra_ctes", "unrendered_config"),
)


def read_target(
    path: Path, *, dataset_namespace: str = "", bytes_max: int = FILE_BYTES_MAX
) -> dict[str, Any]:
    """Read manifest.json and, if they exist, catalog.json and run_results.json into one document for `read`.

    The datasets are in `dataset_namespace`. Parts of the manifest that `read` ignores are left out. Raises
    UnreadableDocument without a manifest or for a file that is not JSON, TooLarge beyond `bytes_max` bytes.
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
