"""Operations of a statement whose column lineage an engine reported as pairs of columns or tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.lineage import FieldLineageInfo, build_lineage_lenient
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime import deadline
from fll_hbase.sources import derived_columns


class StatementLineage:
    """Collects what a statement reads and writes, in any order and with repetitions."""

    def __init__(self) -> None:
        self._reads: dict[Dataset, set[str]] = {}
        self._columns: dict[Dataset, dict[str, set[DatasetField]]] = {}
        self._related: dict[Dataset, set[Dataset]] = {}
        self._open: set[Dataset] = set()
        """Targets that are related to all sources in an unknown way, without a pair for each."""

    def read(self, dataset: Dataset, columns: Iterable[str] = ()) -> None:
        """Add columns that are read; without columns, the columns of the dataset are unknown."""
        self._reads.setdefault(dataset, set()).update(columns)

    def write(self, dataset: Dataset) -> None:
        """Add a dataset that is written."""
        self._columns.setdefault(dataset, {})

    def derive(self, target: DatasetField, sources: Iterable[DatasetField]) -> None:
        """Add a written column with the columns of its value, which are read, or without any if generated."""
        inputs = self._columns.setdefault(target.dataset, {}).setdefault(target.name, set())
        for source in sources:
            inputs.add(source)
            self.read(source.dataset, (source.name,))

    def write_columns(self, target: Dataset, columns: Mapping[str, Sequence[DatasetField]]) -> None:
        """Add a target with its columns and the columns of their values; call this after all `read`.

        If no column has any, although the statement reads datasets, the columns are dropped and the target is
        related to these datasets in an unknown way. Otherwise a column without them is generated.
        """
        if self._reads and not any(columns.values()):
            self._open.add(target)
            columns = {}
        self.write(target)
        for column, sources in deadline.watched(columns.items()):
            self.derive(DatasetField(target, column), sources)

    def relate(self, source: Dataset, target: Dataset) -> None:
        """Add a source of a target whose columns are unknown.

        Columns of that target that come from that source take precedence, whenever they are added.
        """
        self.read(source)
        self.write(target)
        self._related.setdefault(target, set()).add(source)

    @property
    def sources(self) -> list[Dataset]:
        """Return the datasets that are read, sorted."""
        return sorted(self._reads)

    @property
    def targets(self) -> list[Dataset]:
        """Return the datasets that are written, sorted."""
        return sorted(self._columns)

    def build(self, verb: str) -> FieldLineageInfo:
        """Return the lineage; `verb` describes each WRITE, such as `INSERT`. Independent of the order.

        Raises TooManyColumns for too many relations that have to be listed.
        """
        names = UniqueNames()
        # Sorted, since names of operations are part of the checksum.
        origins = {dataset: names.assign(f"read {dataset.name}") for dataset in self.sources}
        operations: list[Operation] = [
            Read(name, "", dataset, "", tuple(map(Field, sorted(self._reads[dataset]))))
            for dataset, name in origins.items()
        ]
        unknown: dict[str, set[str] | None] = {}
        for target in self.targets:
            transforms = list(self._transforms(target, origins, names))
            inputs = tuple(InputField(item.name, item.outputs[0].name) for item in transforms)
            write = Write(names.assign(f"write {target.name}"), verb, target, "", inputs)
            operations += [*transforms, write]
            sources = self._unknown_sources(target)
            unknown[write.name] = None if sources is None else {origins[source] for source in sources}
        return build_lineage_lenient(_with_unknown_origins(operations, unknown))

    def _transforms(
        self, target: Dataset, origins: dict[Dataset, str], names: UniqueNames
    ) -> Iterator[Transform]:
        """Yield a TRANSFORM for each column of a target, sorted by name."""
        for column, sources in deadline.watched(sorted(self._columns[target].items())):
            inputs = tuple(InputField(origins[source.dataset], source.name) for source in sorted(sources))
            yield Transform(names.assign(f"{target.name}.{column}"), "", inputs, (Field(column),))

    def _unknown_sources(self, target: Dataset) -> set[Dataset] | None:
        """Return the sources of a target from which no column is known to come, None for all of them."""
        columns = self._columns[target].values()
        if target in self._open and not columns:
            return None
        resolved = {source.dataset for sources in columns for source in sources}
        if target in self._open:
            derived_columns.derive(len(self._reads))
            return set(self._reads) - resolved
        return self._related.get(target, set()) - resolved


def _with_unknown_origins(
    operations: list[Operation], unknown: dict[str, set[str] | None]
) -> list[Operation]:
    """Return the operations; WRITEs state their unknown origins if the default relations would be wrong."""
    reads = [operation for operation in operations if isinstance(operation, Read)]
    all_names = {read.name for read in reads}
    without_columns = {read.name for read in reads if not read.outputs}
    writes = (operation for operation in operations if isinstance(operation, Write))
    implied = {write.name: without_columns if write.inputs else all_names for write in writes}
    if all(unknown[name] in (None, names) for name, names in implied.items()):
        return operations
    # At least one WRITE must state its origins, or else the default relations hold again.
    is_none_related = not any(names is None or names for names in unknown.values())
    stated = {}
    for name, names in unknown.items():
        if is_none_related or names is None or names:
            stated[name] = tuple(sorted(all_names if names is None else names))
            # Each of many targets may be related to each of many sources.
            derived_columns.derive(len(stated[name]))
    return [
        replace(operation, unknown_origins=stated[operation.name])
        if isinstance(operation, Write) and operation.name in stated
        else operation
        for operation in operations
    ]
