"""Random runs of which some edges mask the value, and random flow policies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, Field
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.lineage import build_lineage
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from tests.support.reach_histories import edges, starts
from tests.support.reach_oracle import Run

MASKED = "sha256 of the value"


@dataclass(frozen=True)
class MaskingRun(Run):
    """A run of one of two programs, of whose edges some mask the value."""

    masked: frozenset[int] = frozenset()

    @property
    def program(self) -> str:
        return f"program{int(self.name) % 2}"

    def readable(self) -> Run:
        """Return the run without its masked edges."""
        readable = (edge for number, edge in enumerate(self.edges) if number not in self.masked)
        return replace(self, edges=tuple(readable), masked=frozenset())

    def recorded(self) -> RecordedRun:
        state = State.FAIL if self.failed else State.COMPLETE
        run = ProgramRun("ns", "app", "", "spark", self.program, self.name, self.start_ms, state)
        return RecordedRun(run, build_lineage(list(self._operations())))

    def _operations(self) -> Iterator[Operation]:
        """Yield a READ and a WRITE for each dataset, and for each edge a transform of its own."""
        for read in sorted({edge.source.dataset for edge in self.edges}):
            names = sorted({edge.source.name for edge in self.edges if edge.source.dataset == read})
            yield Read(f"read {read}", "", read, "", tuple(Field(name) for name in names))
        written: dict[Dataset, list[InputField]] = {}
        for number, (source, end, direct) in enumerate(self.edges):
            influence = Influence.DIRECT if direct else Influence.INDIRECT
            source_input = InputField(f"read {source.dataset}", source.name, influence)
            inputs = written.setdefault(end.dataset, [])
            name = f"edge {number}"
            text = MASKED if number in self.masked else "another value"
            if end.name == WHOLE_DATASET:
                # A condition is written by no transform, unless it decides by a masked value.
                if number in self.masked:
                    yield Transform(
                        name, text, (replace(source_input, influence=Influence.DIRECT),), (Field("c"),)
                    )
                    source_input = InputField(name, "c", Influence.INDIRECT)
                inputs.append(source_input)
            else:
                yield Transform(name, text, (source_input,), (Field(end.name),))
                inputs.append(InputField(name, end.name))
        for dataset, listed in written.items():
            yield Write(f"write {dataset}", "", dataset, "", tuple(listed))


masking_runs = st.builds(
    MaskingRun,
    st.sampled_from(["1", "2", "3", "4", "5"]),
    starts,
    st.lists(edges, min_size=1, max_size=4, unique_by=lambda edge: edge[:2]).map(tuple),
    st.sampled_from([False, False, False, True]),
    st.frozensets(st.integers(0, 3), max_size=2),
)
policies = st.builds(
    FlowPolicy,
    st.just("p"),
    st.just("PII"),
    into=st.sampled_from(["", "ns/c", "ns/*", "ns/d"]),
    only_into=st.sampled_from(["", "ns/d", "*b"]),
    influence=st.sampled_from(["value", "any"]),
    unless_masked=st.booleans(),
    description=st.just(""),
    at_ms=st.just(0),
)
