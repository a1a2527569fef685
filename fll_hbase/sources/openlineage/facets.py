"""What do the facets of a run and of a job say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from fll_hbase.errors import FieldError, InputError
from fll_hbase.model import checksum
from fll_hbase.model.lineage import partial
from fll_hbase.model.run_events import Facts
from fll_hbase.model.runs import ProgramRun
from fll_hbase.sources.native.document import read_operations, read_run
from fll_hbase.sources.openlineage.json_access import facet, listed, members, text
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, each, inside

RUN, JOB = "run.facets", "job.facets"
OWN = "fll_run"
"""The facet of our own exports: a run with its operations, so that nothing is lost on the way."""

SPARK_EXCEPTION = "spark.exception"
ERROR_CHARACTERS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Own:
    """A run that was exported from a store like this."""

    run: ProgramRun
    operations: str

    def facts(self, said: Facts) -> Facts:
        """The facts with the program as it was recorded."""
        run = self.run
        program = run.namespace, run.application, run.version, run.type, run.program
        return msgspec.structs.replace(said, program=program)


def facts(checks: Validator, of_run: dict[str, Any], physical: Iterable[tuple[str, str, str]]) -> Facts:
    """What the facets of a run say of that run alone."""
    parent = facet(checks, of_run, "parent", RUN) or {}
    nominal = facet(checks, of_run, "nominalTime", RUN) or {}
    at = inside(RUN, "parent")
    return Facts(
        parent=_reference(checks, parent, at),
        root=_reference(checks, members(checks, parent.get("root"), inside(at, "root"), optional=True), at),
        nominal_start=text(checks, nominal, "nominalStartTime", inside(RUN, "nominalTime")),
        nominal_end=text(checks, nominal, "nominalEndTime", inside(RUN, "nominalTime")),
        error=_error(checks, of_run)[:ERROR_CHARACTERS_MAX],
        names=tuple(sorted(physical)),
    )


def integration(checks: Validator, of_job: dict[str, Any]) -> str:
    """What kind of program it is, as its job type says; empty where it says nothing."""
    said = facet(checks, of_job, "jobType", JOB) or {}
    return text(checks, said, "integration", inside(JOB, "jobType"))


def sql(checks: Validator, of_job: dict[str, Any]) -> str:
    """The statement that the job runs."""
    return text(checks, facet(checks, of_job, "sql", JOB) or {}, "query", inside(JOB, "sql"))


def entries(checks: Validator, of_job: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The datasets that the lineage facet of a job tells of; jobs that feed jobs carry no fields."""
    said = facet(checks, of_job, "lineage", JOB) or {}
    at = inside(JOB, "lineage")
    for item, place in each(listed(checks, said, "entries", at), inside(at, "entries")):
        entry = members(checks, item, place)
        if entry.get("type") == "DATASET":
            yield entry, place


def own_operations(checks: Validator, of_run: dict[str, Any]) -> Own | None:
    """The run that a store like this exported; its faults are told at its place."""
    said = facet(checks, of_run, OWN, RUN)
    if not said:
        return None
    own = Validator()
    run = read_run(own, said, own.required(said, "namespace", "", bytes_max=ID_BYTES_MAX))
    try:
        if not own.errors:
            info = read_operations(said, run.namespace, of=partial).info
            return Own(run, "\n".join(map(checksum.canonical, info.operations)))
        faults: Iterable[FieldError] = own.errors
    except InputError as error:
        faults = error.errors
    at = inside(RUN, OWN)
    for fault in faults:
        checks.error(inside(at, fault.path), fault.detail)
    return None


def _error(checks: Validator, of_run: dict[str, Any]) -> str:
    """Why the run failed; of the Spark agent, which says nothing else, the head of the stack trace."""
    said = facet(checks, of_run, "errorMessage", RUN)
    if said is not None:
        return text(checks, said, "message", inside(RUN, "errorMessage"))
    said = facet(checks, of_run, SPARK_EXCEPTION, RUN) or {}
    return text(checks, said, "stackTrace", inside(RUN, SPARK_EXCEPTION)).partition("\n")[0]


def _reference(checks: Validator, holder: dict[str, Any], at: str) -> tuple[str, str, str] | None:
    """Namespace and name of a job, and its run; None where nothing is said of a run."""
    run = members(checks, holder.get("run"), inside(at, "run"), optional=True)
    job = members(checks, holder.get("job"), inside(at, "job"), optional=True)
    if not run:
        return None
    return (
        checks.optional(job, "namespace", inside(at, "job"), bytes_max=ID_BYTES_MAX),
        checks.optional(job, "name", inside(at, "job"), bytes_max=NAME_BYTES_MAX),
        checks.required(run, "runId", inside(at, "run"), bytes_max=ID_BYTES_MAX),
    )
