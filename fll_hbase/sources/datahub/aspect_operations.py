"""Lineage of an aspect: edges and field derivations, and the operations made from them.

Names of operations (READs, a TRANSFORM per derived field, WRITEs) contain datasets and fields, never
positions, and all lists are sorted. So equal lineage has equal checksums in every envelope and order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime import deadline

_T = TypeVar("_T", Dataset, DatasetField)
# A derivation may have hundreds of outputs, but its name only has to be recognisable to a reader.
NAMED_FIELDS_MAX = 3


@dataclass(frozen=True, slots=True)
class Derivation:
    """One fine-grained entry: each of `downstreams` derives from all `upstreams` and `dataset_upstreams`.

    `dataset_upstreams` are datasets without a field. All three are sorted and without duplicates.
    `operation` and `query` are empty if the entry lacks them; `confidence` is from 0 to 1.
    """

    downstreams: tuple[DatasetField, ...]
    operation: str
    query: str
    upstreams: tuple[DatasetField, ...]
    dataset_upstreams: tuple[Dataset, ...]
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class AspectLineage:
    """The lineage of one aspect, independent of the order in its arrays.

    `fields` are fields read or written with unknown derivation. `constraints` are fields that decide which
    rows every destination gets. `newest_ms` is the newest audit stamp in ms since 1970, 0 without one.
    """

    sources: frozenset[Dataset]
    destinations: frozenset[Dataset]
    derivations: tuple[Derivation, ...] = ()
    fields: frozenset[DatasetField] = frozenset()
    constraints: frozenset[DatasetField] = frozenset()
    queries: frozenset[str] = frozenset()
    newest_ms: int = 0

    @property
    def empty(self) -> bool:
        """Return whether the aspect has neither datasets nor derivations."""
        return not (self.sources or self.destinations or self.derivations)


def merge_entries(derivations: Iterable[Derivation]) -> tuple[Derivation, ...]:
    """Sort entries; merge those with equal downstreams, operation and query, with the least confidence."""
    grouped: dict[tuple[tuple[DatasetField, ...], str, str], list[Derivation]] = {}
    for each_of in deadline.watched(derivations):
        # A patch has a separate entry for each upstream of a derivation.
        key = each_of.downstreams, each_of.operation, each_of.query
        grouped.setdefault(key, []).append(each_of)
    return tuple(
        Derivation(
            *key,
            upstreams=in_order(field for entry in entries for field in entry.upstreams),
            dataset_upstreams=in_order(dataset for entry in entries for dataset in entry.dataset_upstreams),
            # A merged derivation is as certain as its least certain part.
            confidence=min(entry.confidence for entry in entries),
        )
        for key, entries in deadline.watched(sorted(grouped.items(), key=lambda item: item[0]))
    )


def respell(lineage: AspectLineage, spelled: Callable[[DatasetField], DatasetField]) -> AspectLineage:
    """Return a lineage with each field spelled by `spelled`; merge entries that become equal."""
    return replace(
        lineage,
        derivations=merge_entries(
            replace(
                entry,
                downstreams=in_order(map(spelled, entry.downstreams)),
                upstreams=in_order(map(spelled, entry.upstreams)),
            )
            for entry in lineage.derivations
        ),
        fields=frozenset(map(spelled, lineage.fields)),
        constraints=frozenset(map(spelled, lineage.constraints)),
    )


def in_order(items: Iterable[_T]) -> tuple[_T, ...]:
    """Return the items sorted without duplicates."""
    return tuple(sorted(set(items)))


def build_operations(
    edges: AspectLineage, *, dataset: Dataset
) -> tuple[tuple[Operation, ...], dict[str, float]]:
    """Return the operations of aspect lineage, and by name the confidence of each TRANSFORM below 1.0.

    `dataset` is the owner of the aspect, NOWHERE for a job. A field that keeps its name, without a named
    operation and with full confidence, goes directly from the READ into the inputs of the WRITE.
    """
    flow = _Flow(dataset)
    derivations = [entry for entry in edges.derivations if entry.downstreams]
    reads = _reads(edges, flow.names)
    # A dataset may have two READs; inputs refer to the READ that outputs fields.
    flow.reads = {read.source: read.name for read in reads if read.outputs}
    for derivation in deadline.watched(derivations):
        flow.derive(derivation)
    destinations = edges.destinations | {
        downstream.dataset for entry in derivations for downstream in entry.downstreams
    }
    shaping = [
        InputField(flow.reads[entry.dataset], entry.name, Influence.INDIRECT) for entry in edges.constraints
    ]
    writes = [
        Write(
            flow.names.assign(f"write {dataset_written}"),
            "",
            dataset_written,
            "",
            _inputs([*flow.written.get(dataset_written, ()), *shaping]),
        )
        for dataset_written in deadline.watched(sorted(destinations))
    ]
    return (*reads, *flow.transforms, *writes), flow.confidences


def _reads(edges: AspectLineage, names: UniqueNames) -> list[Read]:
    """Build the READs, those with fields first, then sorted by dataset.

    A dataset with used fields has a READ with these fields, sorted. A dataset without known fields, or that
    is also used as a whole, has a READ without fields. So a dataset may have both.
    """
    used: dict[Dataset, set[str]] = {}
    blind: set[Dataset] = set(edges.sources)
    for derivation in deadline.watched(edges.derivations):
        blind.update(derivation.dataset_upstreams)
        for upstream in derivation.upstreams:
            if derivation.downstreams:
                used.setdefault(upstream.dataset, set()).add(upstream.name)
            else:
                blind.add(upstream.dataset)
    whole_datasets = {dataset for entry in edges.derivations for dataset in entry.dataset_upstreams}
    for constraint in edges.constraints:
        used.setdefault(constraint.dataset, set()).add(constraint.name)
    reads = [
        Read(names.assign(f"read {dataset}"), "", dataset, "", tuple(Field(name) for name in sorted(fields)))
        for dataset, fields in deadline.watched(sorted(used.items()))
    ]
    without_fields = sorted(dataset for dataset in blind if dataset not in used or dataset in whole_datasets)
    for dataset in deadline.watched(without_fields):
        # Used by fields and as a whole: only a READ without fields records the relation with unknown fields.
        name = names.assign(f"read {dataset} as a whole" if dataset in used else f"read {dataset}")
        reads.append(Read(name, "", dataset, "", ()))
    return reads


@dataclass(slots=True)
class _Flow:
    """Collects derivations and builds TRANSFORMs and write inputs."""

    dataset: Dataset
    names: UniqueNames = field(default_factory=UniqueNames)
    reads: dict[Dataset, str] = field(default_factory=dict)
    transforms: list[Transform] = field(default_factory=list)
    written: dict[Dataset, list[InputField]] = field(default_factory=dict)
    confidences: dict[str, float] = field(default_factory=dict)

    def derive(self, derivation: Derivation) -> None:
        """Add the inputs of the WRITEs for one derivation, and its TRANSFORM unless it is a plain copy.

        A derivation only from whole datasets adds nothing. The READs must already be in `reads`.
        """
        if derivation.dataset_upstreams and not derivation.upstreams:
            return
        inputs = _inputs(
            InputField(self.reads[upstream.dataset], upstream.name) for upstream in derivation.upstreams
        )
        if _is_copy(derivation):
            self._write(derivation.downstreams[0], inputs)
            return
        name = self.names.assign(f"derive {_summarize(derivation.downstreams, self.dataset)}")
        names = {downstream.name for downstream in derivation.downstreams}
        outputs = tuple(map(Field, sorted(names)))
        self.transforms.append(Transform(name, derivation.operation, inputs, outputs))
        for downstream in derivation.downstreams:
            self._write(downstream, [InputField(name, downstream.name)])
        # DataHub's default is 1, which is not worth storing with every run.
        if derivation.confidence < 1:
            self.confidences[name] = derivation.confidence

    def _write(self, downstream: DatasetField, inputs: Sequence[InputField]) -> None:
        """Add inputs to the WRITE of the dataset of `downstream`."""
        self.written.setdefault(downstream.dataset, []).extend(inputs)


def _is_copy(derivation: Derivation) -> bool:
    """Return whether a derivation is a certain copy, without operation, into one field of the same name."""
    names = {endpoint.name for endpoint in (*derivation.upstreams, *derivation.downstreams)}
    # A copy with an operation or a confidence needs a TRANSFORM to carry it.
    plain = not derivation.operation and derivation.confidence == 1
    return plain and len(derivation.downstreams) == 1 and bool(derivation.upstreams) and len(names) == 1


def _summarize(downstreams: Sequence[DatasetField], dataset: Dataset) -> str:
    """Return the names of derived fields as a text, with their dataset if it is not the program's."""
    names = [
        downstream.name if downstream.dataset == dataset else f"{downstream.dataset}.{downstream.name}"
        for downstream in downstreams
    ]
    if len(names) <= NAMED_FIELDS_MAX:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED_FIELDS_MAX])} and {len(names) - NAMED_FIELDS_MAX} more"


def _inputs(inputs: Iterable[InputField]) -> tuple[InputField, ...]:
    """Return the distinct inputs, sorted by name, origin and influence."""
    return tuple(
        sorted(
            # A set has no stable order, and the checksum depends on the order.
            set(inputs),
            key=lambda input_field: (input_field.name, input_field.origin, input_field.influence.value),
        )
    )
