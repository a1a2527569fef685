"""Values that a program records: sources, destinations, field operations and runs, all frozen.

Constructors never raise, whatever they are given; errors are reported when the values are recorded.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from fll_hbase.model.datasets import Field
from fll_hbase.model.runs import State
from fll_hbase.runtime.clock import now_ms


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset that is read: a table, topic or file."""

    namespace: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Destination:
    """The dataset that is written; `fields` defaults to every field that no operation dropped."""

    namespace: str
    name: str
    description: str = ""
    fields: Sequence[Field | str] = ()

    def __post_init__(self) -> None:
        # A frozen dataclass raises on plain assignment, in its own methods too.
        object.__setattr__(self, "fields", as_tuple(self.fields))


Input: TypeAlias = Source | Field | str


@dataclass(frozen=True, slots=True)
class FieldOperation:
    """An operation on fields: every output is produced from all inputs.

    A Source is read; a Field, or its bare name, is the output of that name of the latest earlier operation.
    Without inputs the outputs are generated, without outputs the inputs are dropped.
    """

    name: str
    description: str = ""
    inputs: Sequence[Input] = ()
    outputs: Sequence[Field | str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", as_tuple(self.inputs))
        object.__setattr__(self, "outputs", as_tuple(self.outputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a program.

    `run` is unique in the namespace, by default a new UUID; `start_ms` is in milliseconds since 1970, by
    default now; `namespace` is the program's, by default that of the recorder. Create it once, where the
    program starts, and record `run.with_state(...)`, which is the same run, when it ends.
    """

    application: str
    program: str
    type: str = "spark"
    version: str = ""
    namespace: str = ""
    run: str = field(default_factory=lambda: str(uuid.uuid4()))
    start_ms: int = field(default_factory=now_ms)
    state: State = State.COMPLETE

    def with_state(self, state: State = State.COMPLETE) -> Run:
        """Return the same run in another state, by default the one of a run that succeeded."""
        return replace(self, state=state)


def as_tuple(items: Any) -> tuple[Any, ...]:
    """Return items as a tuple, a set sorted; one Source, Field or name becomes a tuple of one."""
    # A string is iterable: `outputs="body"` would become four fields.
    if isinstance(items, str | Field | Source):
        return (items,)
    try:
        # The order of a set differs between processes, and with it the checksum would. As texts, since a set
        # may have both names and Fields.
        return tuple(sorted(items, key=repr) if isinstance(items, set | frozenset) else items)
    except TypeError:
        # Not raised here but reported by the reader, with the path of the member.
        return (items,)
