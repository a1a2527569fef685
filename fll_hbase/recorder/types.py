"""What does a program say about its fields: the classes of the first design (seed 000), as frozen values.

Making them never fails, whatever they are given: what is wrong with them is told when they are recorded.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from fll_hbase.clock import now_ms
from fll_hbase.model.operations import Field
from fll_hbase.model.runs import State


@dataclass(frozen=True, slots=True)
class Source:
    """An end point that is read: a dataset, topic, table or file."""

    namespace: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Destination:
    """The end point that is written. Without `fields` it gets every field alive after the operations."""

    namespace: str
    name: str
    description: str = ""
    fields: Sequence[Field | str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", many(self.fields))


Input: TypeAlias = Source | Field | str


@dataclass(frozen=True, slots=True)
class FieldOperation:
    """One thing done to fields: each output is made of all inputs.

    A Source is read; a Field, or its bare name, is the one that the latest earlier operation made. Without
    inputs the outputs are generated, without outputs the inputs are dropped.
    """

    name: str
    description: str = ""
    inputs: Sequence[Input] = ()
    outputs: Sequence[Field | str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", many(self.inputs))
        object.__setattr__(self, "outputs", many(self.outputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a program.

    `run` is unique across namespaces, by default a fresh UUID; `start_ms` is in milliseconds since 1970, by
    default now; `namespace` is the program's, by default that of the recorder. Make it once, where the
    program starts: to say later how it went, record `run.ended(...)`, which is the same run.
    """

    application: str
    program: str
    type: str = "spark"
    version: str = ""
    namespace: str = ""
    run: str = field(default_factory=lambda: str(uuid.uuid4()))
    start_ms: int = field(default_factory=now_ms)
    state: State = State.COMPLETE

    def ended(self, state: State = State.COMPLETE) -> Run:
        """The same run with the state it ended in."""
        return replace(self, state=state)


def many(given: Any) -> tuple[Any, ...]:
    """Several as given; a lone one counts as one, so that a name is never taken for its letters."""
    if isinstance(given, str | Field | Source):
        return (given,)
    try:
        return tuple(given)
    except TypeError:
        return (given,)
