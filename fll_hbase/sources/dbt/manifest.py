"""The manifest: models, seeds, snapshots and sources of a project, as resolved by dbt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from fll_hbase.model.datasets import Field
from fll_hbase.sources.dbt.artifact import Artifact
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, readable

BUILT = ("model", "seed", "snapshot")
"""Types of nodes for which dbt writes a relation."""

EPHEMERAL = "ephemeral"
# Resources without a relation, which a warning counts by the names that users know.
_COUNTED = {
    "exposures": "exposure",
    "functions": "function",
    "metrics": "metric",
    "saved_queries": "saved query",
    "semantic_models": "semantic model",
    "unit_tests": "unit test",
}


# Quotes of standard SQL, of BigQuery and Spark, and of T-SQL. A quoted dot does not separate parts. Names in
# brackets are bounded, because otherwise a search for each missing end would scan the whole text.
_PART = re.compile(r'"((?:[^"]++|"")*+)"|`([^`]*)`|\[([^\]]{0,256}+)\]|([^."`\[\]\s]+)')


@dataclass(frozen=True, slots=True)
class SnapshotConfig:
    """Configuration of a snapshot; `columns` maps dbt's column names to the configured names."""

    strategy: str
    unique_key: tuple[str, ...]
    updated_at: str
    hard_deletes: str
    columns: dict[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    """A model, seed, snapshot or source.

    `name` is the name of its dataset, `relation` its name in compiled SQL, both without quotes. `fields` are
    the columns that the project declares, which are complete with `contract`. `code` is the compiled SQL,
    with ephemeral models as CTEs, or "" if dbt did not compile the node.
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
        """Return whether dbt writes a relation for the node. It writes none for ephemeral models."""
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


def read_manifest(artifact: Artifact) -> Manifest:
    """Parse the nodes and sources of a manifest, and count others; add an error if no node is readable."""
    data, metadata = artifact.data, artifact.metadata
    # Without an adapter, read the SQL as standard SQL, which covers most of it.
    adapter = metadata.text("adapter_type")
    ignored: Counter[str] = Counter()
    nodes: dict[str, Node] = {}
    listed = data.member("nodes")
    for unique_id, part in _objects(listed.as_object() if data.is_object else listed.as_optional_object()):
        node = part.readable(partial(_read_node, unique_id))
        if isinstance(node, Node):
            nodes[unique_id] = node
        elif node is not None:
            ignored[node] += 1
    for unique_id, part in _objects(data.optional_object("sources")):
        source = part.readable(partial(_read_source, unique_id))
        if source is not None:
            nodes[unique_id] = source
    if data.get("nodes") and not nodes and not ignored:
        data.error("no node can be read", "nodes")
    for member, word in _COUNTED.items():
        ignored[word] += len(data.optional_object(member).members)
    return Manifest(
        artifact=artifact,
        adapter=adapter,
        project=_application(metadata, "project_name"),
        dbt_version=metadata.text("dbt_version"),
        nodes=nodes,
        # `+` removes the counts that are zero.
        ignored=+ignored,
    )


def _objects(holder: Part) -> Iterator[tuple[str, Part]]:
    """Yield unique id and object of each member; leave out other members with a warning."""
    for unique_id, part in holder.member_parts():
        errors_before = part.validator.errors.count
        part.as_object().validator.name(unique_id, part.path, bytes_max=ID_BYTES_MAX)
        if not part.leave_out(errors_before=errors_before):
            yield unique_id, part


def _read_node(unique_id: str, part: Part) -> Node | str:
    """Return a model, seed or snapshot; return only the type of other resources, which have no relation."""
    resource_type = part.required("resource_type")
    if resource_type not in BUILT:
        return resource_type
    config = part.optional_object("config")
    contract = config.optional_object("contract")
    # The alias names the table; `name` names the model's file.
    name = _dataset_name(part, part.required("alias"))
    materialization = _identity(config, "materialized")
    return Node(
        unique_id=unique_id,
        path=part.path,
        type=resource_type,
        name=name,
        relation=unquote_relation(_identity(part, "relation_name")) or name,
        fields=_fields(part),
        description=part.text("description"),
        package=_application(part, "package_name"),
        materialization=materialization or resource_type,
        language=part.text("language"),
        code=part.text("compiled_code"),
        file=part.text("original_file_path"),
        depends_on=tuple(readable(part.optional_object("depends_on").optional_items("nodes"), Part.name)),
        contract=contract.get("enforced") is True,
        snapshot=_snapshot(config) if resource_type == "snapshot" else None,
    )


def _read_source(unique_id: str, part: Part) -> Node:
    """Parse a source, whose `name` is its dataset's name, and whose `identifier` is its table in SQL."""
    name = part.required("name")
    identifier = _identity(part, "identifier") or name
    relation = unquote_relation(_identity(part, "relation_name"))
    return Node(
        unique_id=unique_id,
        path=part.path,
        type="source",
        name=_dataset_name(part, name),
        relation=relation or _dataset_name(part, identifier),
        fields=_fields(part),
        description=part.text("description"),
    )


def _dataset_name(part: Part, table: str) -> str:
    """Return the dataset's name for database, schema and table; `?` with an error if it is invalid."""
    # As OpenLineage's dbt integration names a dataset.
    names = (_identity(part, "database"), _identity(part, "schema"), table)
    return part.validator.name(".".join(filter(None, names)), part.path, bytes_max=NAME_BYTES_MAX)


def _identity(part: Part, name: str) -> str:
    """Return a member that names a table, "" if it is missing or null; add an error if it is invalid."""
    return "" if part.get(name) is None else part.optional(name)


def _application(part: Part, name: str) -> str:
    """Return a member to use as an application's name; "" if missing or, with a warning, too long."""
    given = part.text(name)
    if len(given.encode()) <= NAME_BYTES_MAX:
        return given
    part.warning(f"is longer than {NAME_BYTES_MAX} bytes; left out", name)
    return ""


def _fields(node: Part) -> tuple[Field, ...]:
    """Return the columns that the project declares for a node; warn of unreadable ones and skip them."""

    def read(column: Part) -> Field:
        """Return a column as a field; add an error for an invalid name."""
        name = column.as_object().required("name", bytes_max=NAME_BYTES_MAX)
        return Field(name, column.text("data_type"))

    columns = node.optional_object("columns").member_parts()
    return tuple(readable((column for _, column in columns), read))


def _snapshot(config: Part) -> SnapshotConfig:
    """Return the configuration of a snapshot; a unique key may be one name or a list of names."""
    key = config.member("unique_key")
    keys = key.value if isinstance(key.value, list) else [key.value] if key.value else []
    names = config.optional_object("snapshot_meta_column_names")
    return SnapshotConfig(
        strategy=config.text("strategy"),
        unique_key=tuple(key.validator.name(item, key.path) for item in keys),
        updated_at=config.text("updated_at"),
        hard_deletes=config.text("hard_deletes"),
        columns={name: names.text(name) or name for name in names.members},
    )


def unquote_relation(relation: str) -> str:
    """Return a quoted name such as `"shop"."main"."orders"` without its quotes: `shop.main.orders`."""
    groups = (match.groups("") for match in _PART.finditer(relation))
    return ".".join(quoted.replace('""', '"') or "".join(others) for quoted, *others in groups)
