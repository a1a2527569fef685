"""Operations of one node: from its SQL, from a seed's columns, or else between whole datasets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError, InputError, TooLarge
from fll_hbase.sources import sql
from fll_hbase.sources.dbt.manifest import EPHEMERAL, Node, SnapshotConfig
from fll_hbase.sources.native.document import ReadOperations
from fll_hbase.sources.validation import child_path

SNAPSHOT_QUERY = "dbt_snapshot"
"""Alias of the snapshot's query in the query around it."""

_NOW = "current_timestamp"
_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")


def with_version_columns(query: str, config: SnapshotConfig) -> str:
    """Return a query that adds dbt's columns to the query of a snapshot.

    `dbt_scd_id` derives from the unique key and the time of the row, the other columns from that time: the
    column `updated_at` in the strategy `timestamp`, else the time of the run, where `dbt_valid_to` is null.
    With `new_record`, a constant `dbt_is_deleted` is added. Values differ from dbt's.
    """
    by_timestamp = config.strategy == "timestamp" and bool(config.updated_at)
    time = config.updated_at if by_timestamp else _NOW
    version = ", ".join((*config.unique_key, time))
    expressions = (f"md5(concat({version}))", time, time, config.updated_at if by_timestamp else "null")
    # Only the inputs of each column matter for lineage; dbt's own expressions depend on the adapter.
    columns = dict(zip(_COLUMNS, expressions, strict=True))
    if config.hard_deletes == "new_record":
        columns["dbt_is_deleted"] = "'False'"
    added = ", ".join(
        f"{expression} as {config.columns.get(name, name)}" for name, expression in columns.items()
    )
    # Put the query on lines of its own, since it may end with a `--` comment.
    return f"select {SNAPSHOT_QUERY}.*, {added} from (\n{query}\n) as {SNAPSHOT_QUERY}"


DEPENDENCIES_MAX = 1_000
"""Largest number of dependencies recorded for a node whose SQL cannot be parsed."""

# Warnings of the SQL source recommend a member `schema`, which dbt documents do not have.
_SQL_ADVICE = re.compile(r"[;,][^;,]*`schema`$")


@dataclass(frozen=True, slots=True)
class Project:
    """Nodes by unique id, the namespace of their datasets, the dialect, and the tables of their SQL."""

    nodes: Mapping[str, Node]
    namespace: str
    dialect: str
    tables: sql.TableSchemas

    def dataset(self, node: Node) -> Dataset:
        """Return the dataset of a node."""
        return Dataset(self.namespace, node.name)


def build_tables(
    nodes: Mapping[str, Node],
    catalog: Mapping[str, tuple[Field, ...]],
    *,
    namespace: str,
    columns: sql.FieldLookup,
) -> sql.TableSchemas:
    """Build the table schemas of a project, with columns of the catalog, else of an enforced contract.

    Other tables have only names, without an order: from the project's declarations and from `columns`.
    """
    declared = {node.name: node.fields for node in nodes.values()}
    complete = {node.name: node.fields for node in nodes.values() if node.contract and node.fields}
    # Added after contracts to override them, since the catalog reflects the database.
    complete |= {node.name: catalog[node.unique_id] for node in nodes.values() if node.unique_id in catalog}
    tables = sql.TableSchemas(namespace, complete, columns, mentioned=declared)
    for node in deadline.watched(nodes.values()):
        # Ephemeral models are CTEs in compiled SQL, so no table has their name.
        if node.materialization != EPHEMERAL:
            tables.add_alias(node.relation, node.name)
    return tables


def node_operations(project: Project, node: Node, code: str) -> ReadOperations:
    """Return the operations of a node, from its SQL `code` or from a seed's columns.

    Operations read and write whole datasets, with a warning, for Python, for SQL that is missing or cannot be
    parsed, and for a seed with too many columns. Raises DeadlineExceeded and the errors of lookups of fields.
    """
    path = child_path(node.path, "compiled_code")
    is_seed = node.type == "seed"
    if not is_seed and node.language == "python":
        reason = FieldError(path, "is Python: column lineage of this model is unknown")
    elif not is_seed and not code:
        reason = FieldError(path, "missing: the columns of the node and their inputs are unknown")
    else:
        try:
            if is_seed:
                return ReadOperations(lineage.build_lineage_lenient(_seed_operations(project, node)), ())
            operations = _query_operations(project, node, code)
        # A model that cannot be parsed must not affect the thousands of other models of a document.
        except (InputError, TooLarge) as error:
            reason = FieldError(
                node.path if is_seed else path, f"{error}; column lineage of this node is unknown"
            )
        else:
            warnings = (item.detail for item in operations.warnings if SNAPSHOT_QUERY not in item.detail)
            advised = (FieldError(path, _SQL_ADVICE.sub("", detail)) for detail in warnings)
            return replace(operations, warnings=tuple(advised))
    return ReadOperations(lineage.build_lineage_lenient(_opaque_operations(project, node)), (reason,))


def _query_operations(project: Project, node: Node, code: str) -> ReadOperations:
    """Read a model's SQL; add a snapshot's version columns, or a warning if these are unknown."""
    read = partial(
        sql.read_query,
        dialect=project.dialect,
        target=project.dataset(node),
        verb=_verb(node),
        tables=project.tables,
    )
    if node.snapshot is None:
        return read(code)
    try:
        return read(with_version_columns(code, node.snapshot))
    except InputError:
        # Reading the query alone gives the error its own line and column, or shows that the key caused it.
        operations = read(code)
        reason = FieldError(
            "", "the snapshot's key or time is not understood: dbt's own columns are left out"
        )
        return replace(operations, warnings=(*operations.warnings, reason))


def _seed_operations(project: Project, node: Node) -> list[Operation]:
    """Build a TRANSFORM without inputs for each known column of a seed, and the WRITE."""
    dataset = project.dataset(node)
    schema = project.tables.schema(dataset)
    fields = deadline.watched(dict.fromkeys(schema.fields if schema else ()))
    fills = [Transform(f"{node.name}.{field.name}", "", (), (field,)) for field in fields]
    inputs = tuple(InputField(fill.name, fill.outputs[0].name) for fill in fills)
    return [*fills, Write(f"write {node.name}", f"{_verb(node)} {node.file}".strip(), dataset, "", inputs)]


def _opaque_operations(project: Project, node: Node) -> list[Operation]:
    """Return a READ without fields for each dataset on which a node depends, and a WRITE without inputs.

    Ephemeral nodes are replaced by their own dependencies. At most DEPENDENCIES_MAX dependencies are
    followed, counting ephemeral and repeated ones.
    """
    steps = islice(_dependencies(project.nodes, node), DEPENDENCIES_MAX)
    sources = {project.dataset(source) for source in steps if source.materialization != EPHEMERAL}
    reads = [Read(f"read {source.name}", "", source, "", ()) for source in sorted(sources)]
    return [*reads, Write(f"write {node.name}", _verb(node), project.dataset(node), "", ())]


def _dependencies(nodes: Mapping[str, Node], node: Node) -> Iterator[Node]:
    """Yield the nodes on which a node depends, directly or through ephemeral nodes, with duplicates."""
    pending, expanded = [node.depends_on], set()
    # Chains can be long, so walk without recursion: the list grows during the iteration.
    for depends_on in pending:
        for source in (nodes[unique_id] for unique_id in depends_on if unique_id in nodes):
            yield source
            # Expand each node once, since diamonds of ephemeral models would double the work on every level.
            if source.materialization == EPHEMERAL and source.unique_id not in expanded:
                expanded.add(source.unique_id)
                pending.append(source.depends_on)


def _verb(node: Node) -> str:
    """Return the description of a WRITE, such as `dbt incremental`."""
    # Not the SQL statement, which depends on the adapter and the table and would change the checksum.
    return f"dbt {node.materialization}"
