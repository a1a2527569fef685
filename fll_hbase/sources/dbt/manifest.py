"""The manifest: models, seeds, snapshots and sources of a project, as dbt resolved them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fll_hbase.model.datasets import Field
from fll_hbase.sources.dbt.artifact import MANIFEST, Artifact
from fll_hbase.sources.openlineage.json_access import list_items, members, text
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path, items_with_path

BUILT = ("model", "seed", "snapshot")
"""Types of nodes for which dbt writes a relation."""

EPHEMERAL = "ephemeral"
# Resources without a relation: they are counted in a warning, by the name that users know.
_COUNTED = {
    "exposures": "exposure",
    "functions": "function",
    "metrics": "metric",
    "saved_queries": "saved query",
    "semantic_models": "semantic model",
    "unit_tests": "unit test",
}


# Quotes of standard SQL, of BigQuery and Spark, and of T-SQL: a dot inside of them separates nothing.
_PART = re.compile(r'"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^."`\[\]\s]+)')


@dataclass(frozen=True, slots=True)
class SnapshotConfig:
    """Configuration of a snapshot; `columns` maps the names of dbt's columns to the configured ones."""

    strategy: str
    unique_key: tuple[str, ...]
    updated_at: str
    hard_deletes: str
    columns: dict[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    """A model, seed, snapshot or source.

    `name` is that of its dataset, `relation` its name in compiled SQL, both without quotes. `fields` are the
    columns that the project declares; with `contract`, they are all columns. `code` is the compiled SQL, with
    ephemeral models as CTEs; empty if dbt did not compile the node.
    """

    unique_id: str
    path: str
    type: str
    name: str
    relation: str
    fields: tuple[Field, ...]
    description: str
    package: str = ""
    materialization: str = ""
    language: str = ""
    code: str = ""
    file: str = ""
    depends_on: tuple[str, ...] = ()
    contract: bool = False
    snapshot: SnapshotConfig | None = None

    @property
    def is_built(self) -> bool:
        """Whether dbt writes a relation for the node; it writes none for ephemeral models."""
        return self.type in BUILT and self.materialization != EPHEMERAL


@dataclass(frozen=True, slots=True)
class Manifest:
    """A parsed manifest: `nodes` are sources and nodes of types BUILT; `ignored` counts others by type."""

    artifact: Artifact
    adapter: str
    project: str
    dbt_version: str
    nodes: dict[str, Node]
    ignored: Counter[str]


def read_manifest(validator: Validator, artifact: Artifact) -> Manifest:
    """Parse the readable nodes and sources of a manifest, count other resources; errors go to `validator`."""
    path = child_path(MANIFEST.member, "metadata")
    # Without it the SQL is read as standard SQL, which most of it is.
    adapter = text(validator, artifact.metadata, "adapter_type", path)
    ignored: Counter[str] = Counter()
    nodes: dict[str, Node] = {}
    for unique_id, data, node_path in _objects(
        validator, artifact.data, "nodes", required=artifact.is_object
    ):
        errors_before = validator.errors.count
        resource_type = validator.required(data, "resource_type", node_path)
        node = None
        if resource_type in BUILT:
            node = _read_node(validator, data, node_path, resource_type, unique_id)
        if validator.leave_out(node_path, errors_before=errors_before):
            continue
        if node is None:
            ignored[resource_type] += 1
        else:
            nodes[unique_id] = node
    for unique_id, data, node_path in _objects(validator, artifact.data, "sources"):
        errors_before = validator.errors.count
        source = _read_source(validator, data, node_path, unique_id)
        if not validator.leave_out(node_path, errors_before=errors_before):
            nodes[unique_id] = source
    if artifact.data.get("nodes") and not nodes and not ignored:
        validator.error(child_path(MANIFEST.member, "nodes"), "none of them can be read")
    for member, word in _COUNTED.items():
        ignored[word] += len(
            members(validator, artifact.data.get(member), child_path(MANIFEST.member, member), optional=True)
        )
    return Manifest(
        artifact=artifact,
        adapter=adapter,
        project=_application(validator, artifact.metadata, "project_name", path),
        dbt_version=text(validator, artifact.metadata, "dbt_version", path),
        nodes=nodes,
        # `+` removes the counts that are zero.
        ignored=+ignored,
    )


def _objects(
    validator: Validator, data: dict[str, Any], member: str, *, required: bool = False
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield unique id, value and JSON path of each object of a member."""
    path = child_path(MANIFEST.member, member)
    for unique_id, value in members(validator, data.get(member), path, optional=not required).items():
        node_path = child_path(path, unique_id)
        errors_before = validator.errors.count
        node = members(validator, value, node_path)
        validator.name(unique_id, node_path, bytes_max=ID_BYTES_MAX)
        if not validator.leave_out(node_path, errors_before=errors_before):
            yield unique_id, node, node_path


def _read_node(
    validator: Validator, data: dict[str, Any], path: str, resource_type: str, unique_id: str
) -> Node:
    config = members(validator, data.get("config"), child_path(path, "config"), optional=True)
    contract = members(validator, config.get("contract"), child_path(path, "config.contract"), optional=True)
    # The table is named by the alias; `name` is that of the model's file.
    name = _dataset_name(validator, data, path, validator.required(data, "alias", path))
    materialization = _identity(validator, config, "materialized", child_path(path, "config"))
    return Node(
        unique_id=unique_id,
        path=path,
        type=resource_type,
        name=name,
        # Ephemeral models have no relation name.
        relation=unquote_relation(_identity(validator, data, "relation_name", path)) or name,
        fields=_fields(validator, data, path),
        description=text(validator, data, "description", path),
        package=_application(validator, data, "package_name", path),
        materialization=materialization or resource_type,
        language=text(validator, data, "language", path),
        code=text(validator, data, "compiled_code", path),
        file=text(validator, data, "original_file_path", path),
        depends_on=_dependencies(validator, data, path),
        contract=contract.get("enforced") is True,
        snapshot=_snapshot(validator, config, child_path(path, "config"))
        if resource_type == "snapshot"
        else None,
    )


def _read_source(validator: Validator, data: dict[str, Any], path: str, unique_id: str) -> Node:
    """Parse a source, whose dataset is named by `name`, and its table in SQL by `identifier`."""
    name = validator.required(data, "name", path)
    identifier = _identity(validator, data, "identifier", path) or name
    relation = unquote_relation(_identity(validator, data, "relation_name", path))
    return Node(
        unique_id=unique_id,
        path=path,
        type="source",
        name=_dataset_name(validator, data, path, name),
        relation=relation or _dataset_name(validator, data, path, identifier),
        fields=_fields(validator, data, path),
        description=text(validator, data, "description", path),
    )


def _dataset_name(validator: Validator, data: dict[str, Any], path: str, table: str) -> str:
    database, schema = (_identity(validator, data, member, path) for member in ("database", "schema"))
    name = dataset_name(database, schema, table)
    return validator.name(name, path, bytes_max=NAME_BYTES_MAX)


def _identity(validator: Validator, data: dict[str, Any], name: str, path: str) -> str:
    """Return a member that names a table: if it cannot be read, neither can its node."""
    return "" if data.get(name) is None else validator.optional(data, name, path)


def _application(validator: Validator, data: dict[str, Any], name: str, path: str) -> str:
    """Return a name for an application; "" with a warning if it is too long."""
    given = text(validator, data, name, path)
    if len(given.encode()) <= NAME_BYTES_MAX:
        return given
    validator.warning(child_path(path, name), f"is longer than {NAME_BYTES_MAX} bytes; left out")
    return ""


def _fields(validator: Validator, data: dict[str, Any], path: str) -> tuple[Field, ...]:
    columns_path = child_path(path, "columns")
    columns = members(validator, data.get("columns"), columns_path, optional=True)

    def read(value: object, column_path: str) -> Field:
        column = members(validator, value, column_path)
        name = validator.required(column, "name", column_path, bytes_max=NAME_BYTES_MAX)
        return Field(name, text(validator, column, "data_type", column_path))

    items = ((value, child_path(columns_path, key)) for key, value in columns.items())
    return tuple(validator.readable(items, read))


def _dependencies(validator: Validator, data: dict[str, Any], path: str) -> tuple[str, ...]:
    depends_on = members(validator, data.get("depends_on"), child_path(path, "depends_on"), optional=True)
    nodes_path = child_path(path, "depends_on.nodes")
    items = list_items(validator, depends_on, "nodes", child_path(path, "depends_on"))
    return tuple(validator.readable(items_with_path(items, nodes_path), validator.name))


def _snapshot(validator: Validator, config: dict[str, Any], path: str) -> SnapshotConfig:
    key = config.get("unique_key")
    # A string, or in later versions of dbt a list of them.
    keys = (
        list_items(validator, config, "unique_key", path) if isinstance(key, list) else [key] if key else []
    )
    names_path = child_path(path, "snapshot_meta_column_names")
    names = members(validator, config.get("snapshot_meta_column_names"), names_path, optional=True)
    return SnapshotConfig(
        strategy=text(validator, config, "strategy", path),
        unique_key=tuple(validator.name(item, child_path(path, "unique_key")) for item in keys),
        updated_at=text(validator, config, "updated_at", path),
        hard_deletes=text(validator, config, "hard_deletes", path),
        columns={name: text(validator, names, name, names_path) or name for name in names},
    )


def dataset_name(database: str, schema: str, table: str) -> str:
    """Return the name that OpenLineage's dbt integration gives a dataset: non-empty parts joined by dots."""
    return ".".join(part for part in (database, schema, table) if part)


def unquote_relation(relation: str) -> str:
    """Return a quoted name such as `"shop"."main"."orders"` without its quotes: `shop.main.orders`."""
    groups = (match.groups("") for match in _PART.finditer(relation))
    return ".".join(quoted.replace('""', '"') or "".join(others) for quoted, *others in groups)
