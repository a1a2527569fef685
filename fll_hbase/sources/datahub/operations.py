"""Which operations do edges come to: READs, a TRANSFORM for each derived field, WRITEs; the same every day.

Names are made of what the operations are about, never of their place in the aspect, and everything is sorted:
equal lineage has one checksum whichever way it was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.sources.datahub.lineage_edges import Derivation, Edges

NAMED_FIELDS_MAX = 3


@dataclass(frozen=True, slots=True)
class Told:
    """Operations, and by the name of each TRANSFORM how sure its entry was, where not fully."""

    operations: tuple[Operation, ...]
    confidences: dict[str, float]


def operations_of(edges: Edges, *, dataset: Dataset | None) -> Told:
    """The operations that edges come to; `dataset` is what the aspect belongs to, None for that of a job.

    A field that comes under its own name and by no operation that anyone named goes from READ to WRITE.
    """
    flow = _Flow(dataset)
    derivations = [each for each in edges.derivations if each.downstreams]
    reads = _reads(edges, flow.names)
    flow.reads = {read.source: read.name for read in reads if read.outputs}
    for derivation in derivations:
        flow.derive(derivation)
    destinations = edges.destinations | {made.dataset for each in derivations for made in each.downstreams}
    shaping = [
        InputField(flow.reads[each.dataset], each.name, Influence.INDIRECT) for each in edges.constraints
    ]
    writes = [
        Write(flow.names.assign(f"write {of}"), "", of, "", _inputs([*flow.written.get(of, ()), *shaping]))
        for of in sorted(destinations)
    ]
    return Told((*reads, *flow.transforms, *writes), flow.confidences)


def _reads(edges: Edges, names: UniqueNames) -> list[Read]:
    """A READ of each source with the fields that lead on; without fields where it is not known which do."""
    used: dict[Dataset, set[str]] = {}
    blind: set[Dataset] = set(edges.sources)
    for derivation in edges.derivations:
        blind.update(derivation.whole)
        for upstream in derivation.upstreams:
            if derivation.downstreams:
                used.setdefault(upstream.dataset, set()).add(upstream.name)
            else:
                blind.add(upstream.dataset)
    whole = {of for each in edges.derivations for of in each.whole}
    for constraint in edges.constraints:
        used.setdefault(constraint.dataset, set()).add(constraint.name)
    reads = [
        Read(names.assign(f"read {of}"), "", of, "", tuple(Field(name) for name in sorted(fields)))
        for of, fields in sorted(used.items())
    ]
    for of in sorted(of for of in blind if of not in used or of in whole):
        name = names.assign(f"read {of} as a whole" if of in used else f"read {of}")
        reads.append(Read(name, "", of, "", ()))
    return reads


@dataclass(slots=True)
class _Flow:
    """Derivations on their way to operations."""

    dataset: Dataset | None
    names: UniqueNames = field(default_factory=UniqueNames)
    reads: dict[Dataset, str] = field(default_factory=dict)
    transforms: list[Transform] = field(default_factory=list)
    written: dict[Dataset, list[InputField]] = field(default_factory=dict)
    confidences: dict[str, float] = field(default_factory=dict)

    def derive(self, derivation: Derivation) -> None:
        """Add what the derivation comes to; one of whole end points alone makes no pair of fields."""
        if derivation.whole and not derivation.upstreams:
            return
        inputs = _inputs(
            InputField(self.reads[upstream.dataset], upstream.name) for upstream in derivation.upstreams
        )
        if _is_copy(derivation):
            self._write(derivation.downstreams[0], inputs)
            return
        name = self.names.assign(f"derive {_about(derivation.downstreams, self.dataset)}")
        outputs = tuple(Field(each) for each in sorted({made.name for made in derivation.downstreams}))
        self.transforms.append(Transform(name, derivation.operation, inputs, outputs))
        for made in derivation.downstreams:
            self._write(made, [InputField(name, made.name)])
        if derivation.confidence < 1:
            self.confidences[name] = derivation.confidence

    def _write(self, made: DatasetField, inputs: Sequence[InputField]) -> None:
        self.written.setdefault(made.dataset, []).extend(inputs)


def _is_copy(derivation: Derivation) -> bool:
    names = {each.name for each in (*derivation.upstreams, *derivation.downstreams)}
    plain = not derivation.operation and derivation.confidence == 1
    return plain and len(derivation.downstreams) == 1 and bool(derivation.upstreams) and len(names) == 1


def _about(downstreams: Sequence[DatasetField], dataset: Dataset | None) -> str:
    """What is derived, in few words: the fields, with their end point where that is not the program's."""
    said = [each.name if each.dataset == dataset else f"{each.dataset}.{each.name}" for each in downstreams]
    if len(said) <= NAMED_FIELDS_MAX:
        return ", ".join(said)
    return f"{', '.join(said[:NAMED_FIELDS_MAX])} and {len(said) - NAMED_FIELDS_MAX} more"


def _inputs(inputs: Iterable[InputField]) -> tuple[InputField, ...]:
    return tuple(sorted(set(inputs), key=lambda each: (each.name, each.origin, each.influence.value)))
