"""Values that a program records: sources, destinations, field operations and runs, all frozen.

Constructors never raise, whatever their arguments; errors are reported when the values are recorded.
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
    """A dataset that is read, such as a table, topic or file.

    `namespace` and `name` have 1 to 4,096 bytes; `description` is shown with the dataset.

    >>> Source("bank", "CustomerAccounts", "one row per account").name
    'CustomerAccounts'
    """

    namespace: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Destination:
    """The dataset that is written, with the fields that reach it.

    `fields` defaults to every output that no later operation dropped. A single name or Field becomes a tuple
    of one.

    >>> Destination("bank", "Ratings", fields="rating").fields
    ('rating',)
    """

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
    """An operation that derives every output from all inputs.

    An input is a Source, or a field given by its name or as a Field. It refers to the output of this name in
    the latest earlier operation. Outputs without inputs are generated; inputs without outputs are dropped.
    Split an operation that derives outputs from different inputs.

    >>> FieldOperation("parse", inputs="body", outputs=[Field("name", "string"), "address"]).inputs
    ('body',)
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

    `run` is an id that is unique in the namespace (default: a new UUID), `start_ms` the start in milliseconds
    since 1970 (default: now). `namespace` defaults to the namespace of the recorder. Create one Run where the
    program starts, and record `run.with_state(...)`, which has the same id and start, when it ends.

    >>> run = Run(application="Ratings", program="rate", state=State.RUNNING)
    >>> run.with_state(State.FAIL).run == run.run
    True
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
        """Return the same run, with its id and start, in another state (default: COMPLETE)."""
        return replace(self, state=state)


def as_tuple(items: Any) -> tuple[Any, ...]:
    """Return items as a tuple, with a set sorted by `repr`.

    A name, Source or Field, and anything that cannot be iterated, becomes a tuple of one.
    """
    # A string is iterable: `outputs="body"` would become four fields.
    if isinstance(items, str | Field | Source):
        return (items,)
    try:
        # The order of a set differs between processes, and so would the checksum. Sort by text, since a set
        # may have both names and Fields.
        return tuple(sorted(items, key=repr) if isinstance(items, set | frozenset) else items)
    except TypeError:
        # Not raised here: the reader reports it with the path of the member.
        return (items,)
