"""Operations of one node: of a query by its SQL, of a seed by its columns, else dataset by dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from fll_hbase.errors import FieldError, InputError, TooLarge
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.sources import sql
from fll_hbase.sources.dbt.manifest import EPHEMERAL, Node
from fll_hbase.sources.dbt.snapshots import SNAPSHOT_QUERY, with_version_columns
from fll_hbase.sources.native.document import ReadOperations
from fll_hbase.sources.validation import child_path

DEPENDENCIES_MAX = 1_000
"""Dependencies that are followed from one node whose SQL is not understood."""

_SQL_ADVICE = re.compile(r"[;,][^;,]*`schema`$")


@dataclass(frozen=True, slots=True)
class Project:
    """Nodes by unique id, and what their SQL needs: its dialect, and tables by the names it has for them."""

    nodes: Mapping[str, Node]
    namespace: str
    dialect: str
    tables: sql.TableSchemas

    def dataset(self, node: Node) -> Dataset:
        """The dataset of a node."""
        return Dataset(self.namespace, node.name)


def build_tables(
    nodes: Mapping[str, Node],
    catalog: Mapping[str, tuple[Field, ...]],
    *,
    namespace: str,
    columns: sql.FieldLookup,
) -> sql.TableSchemas:
    """The tables of a project, with the columns of the catalog, else of a contract, else unordered names.

    Such names are those that the project declares, and those that `columns` has.
    """
    declared = {node.name: node.fields for node in nodes.values()}
    complete = {node.name: node.fields for node in nodes.values() if node.contract and node.fields}
    complete |= {node.name: catalog[node.unique_id] for node in nodes.values() if node.unique_id in catalog}

    def lookup(dataset: Dataset) -> Sequence[str] | None:
        names = [field.name for field in declared.get(dataset.name, ())]
        return list(dict.fromkeys([*names, *(columns(dataset) or ())])) or None

    tables = sql.TableSchemas(namespace, complete, lookup)
    for node in nodes.values():
        if node.materialization != EPHEMERAL:
            tables.add_alias(node.relation, node.name)
    return tables


def node_operations(project: Project, node: Node, code: str) -> ReadOperations:
    """The operations that built a node from its compiled SQL.

    A query that cannot be read costs its columns alone: its datasets are read and written as a whole, and the
    warnings say why. Raises StoreUnavailable where the catalogue of the store is needed and does not answer.
    """
    path = child_path(node.path, "compiled_code")
    if node.type == "seed":
        return ReadOperations(lineage.build_lineage_lenient(_seed_operations(project, node)), ())
    if node.language == "python":
        reason = FieldError(path, "is Python: which columns it makes of which is not known")
    elif not code:
        reason = FieldError(path, "missing: which columns the node makes of which is not known")
    else:
        try:
            operations = _query_operations(project, node, code)
        except (InputError, TooLarge) as error:
            reason = FieldError(path, f"{error}; which columns it makes of which is not known")
        else:
            return replace(operations, warnings=tuple(_warnings(operations, path)))
    return ReadOperations(lineage.build_lineage_lenient(_opaque_operations(project, node)), (reason,))


def _query_operations(project: Project, node: Node, code: str) -> ReadOperations:
    def read(query: str) -> ReadOperations:
        return sql.read_query(
            query,
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
        # Read alone, the query either gives the fault its own line and column, or only the key was at fault.
        operations = read(code)
        reason = FieldError(
            "", "the snapshot's key or time is not understood: dbt's own columns are left out"
        )
        return replace(operations, warnings=(*operations.warnings, reason))


def _warnings(operations: ReadOperations, path: str) -> Iterator[FieldError]:
    """Warnings of the SQL, without the advice for SQL documents and without the query around a snapshot."""
    for warning in operations.warnings:
        if SNAPSHOT_QUERY not in warning.detail:
            yield FieldError(path, _SQL_ADVICE.sub("", warning.detail))


def _seed_operations(project: Project, node: Node) -> list[Operation]:
    """A file of the project fills every column; its columns are known from the catalog or the project."""
    dataset = project.dataset(node)
    schema = project.tables.schema(dataset)
    fields = schema.fields if schema else ()
    fills = [Transform(f"{node.name}.{field.name}", "", (), (field,)) for field in dict.fromkeys(fields)]
    inputs = tuple(InputField(fill.name, fill.outputs[0].name) for fill in fills)
    return [*fills, Write(f"write {node.name}", f"{_verb(node)} {node.file}".strip(), dataset, "", inputs)]


def _opaque_operations(project: Project, node: Node) -> list[Operation]:
    """READs and a WRITE of whole datasets, for SQL that is not understood."""
    steps = islice(_dependencies(project.nodes, node), DEPENDENCIES_MAX)
    sources = {project.dataset(source) for source in steps if source.materialization != EPHEMERAL}
    reads = [Read(f"read {source.name}", "", source, "", ()) for source in sorted(sources)]
    return [*reads, Write(f"write {node.name}", _verb(node), project.dataset(node), "", ())]


def _dependencies(nodes: Mapping[str, Node], node: Node) -> Iterator[Node]:
    """The nodes that a node depends on, and those behind ephemeral ones; some more than once."""
    pending, expanded = [node.depends_on], set()
    for depends_on in pending:
        for source in (nodes[unique_id] for unique_id in depends_on if unique_id in nodes):
            yield source
            if source.materialization == EPHEMERAL and source.unique_id not in expanded:
                expanded.add(source.unique_id)
                pending.append(source.depends_on)


def _verb(node: Node) -> str:
    """The description of a WRITE: dbt's word, for its statements depend on the adapter and the table."""
    return f"dbt {node.materialization}"
