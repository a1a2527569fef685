"""Which run, and which window: program runs and the half-open windows they are asked by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fll_hbase.model.lineage import FieldLineageInfo


class State(Enum):
    """How a run ended, or that it has not."""

    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"

    @property
    def failed(self) -> bool:
        """Whether lineage answers leave the run out unless asked for failed ones."""
        return self in (State.FAIL, State.ABORT)


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program; `run` is unique across namespaces, `start_ms` is since 1970.

    `details` are further facts of the run, made by `details`; they are no part of its lineage.
    """

    namespace: str
    application: str
    version: str
    type: str
    program: str
    run: str
    start_ms: int
    state: State = State.COMPLETE
    details: str = ""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run and what it did: what every source yields and the store takes."""

    run: ProgramRun
    info: FieldLineageInfo


def encode_details(**facts: Any) -> str:
    """Facts of a run as one line of JSON, members sorted; those that say nothing are left out."""
    said = {name: fact for name, fact in facts.items() if fact}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True) if said else ""
