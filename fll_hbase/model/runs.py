"""Program runs: identity, start, state and details of a run, and a run with its lineage."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from fll_hbase.model.lineage import FieldLineageInfo


class State(Enum):
    """The state of a run; the values are stored, and equal the values of the REST contract."""

    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"

    @property
    def failed(self) -> bool:
        """True if the run failed or was aborted; queries exclude such runs by default."""
        return self in (State.FAIL, State.ABORT)


_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)


class RunKey(NamedTuple):
    """Identifies a stored run: its id, and the namespace in which it is unique, "" for all namespaces.

    All namespaces share UUIDs, because events are merged by UUID whatever job they name. They also share the
    ids of runs that an earlier release recorded, until a repair of the store moves these runs.
    """

    run: str
    namespace: str = ""


def is_uuid(run: str) -> bool:
    """Return whether a run id is a UUID, which all namespaces share."""
    return _UUID.fullmatch(run) is not None


def run_key(run: str, namespace: str) -> RunKey:
    """Return the key under which a run of a program in `namespace` is recorded."""
    return RunKey(run) if is_uuid(run) else RunKey(run, namespace)


class ProgramId(NamedTuple):
    """The identity of a program across all of its runs and versions."""

    namespace: str
    application: str
    program: str

    def __str__(self) -> str:
        return f"{self.program!r} of application {self.application!r} in namespace {self.namespace!r}"


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program; `run` is its id (see `RunKey`), and `start_ms` counts from 1970.

    `details` is JSON from `encode_details`: facts of the run that are not part of its lineage.
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

    @property
    def program_id(self) -> ProgramId:
        """Return the identity of the run's program, which excludes version and type."""
        return ProgramId(self.namespace, self.application, self.program)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run with its lineage: the result of reading a document, and the input of the store.

    With `replaces_others`, it replaces a run of the same id that another program recorded.
    """

    run: ProgramRun
    info: FieldLineageInfo
    replaces_others: bool = False


def encode_details(**facts: Any) -> str:
    """Return facts of a run as one line of JSON, sorted and without empty ones, or "" if all are empty."""
    # A repeated document must be equal byte for byte to add no cell.
    details = {name: fact for name, fact in facts.items() if fact}
    return json.dumps(details, ensure_ascii=False, separators=(",", ":"), sort_keys=True) if details else ""
