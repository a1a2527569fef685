"""Facets of runs and jobs: parents, times, errors, SQL, job lineage and exported runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from fll_hbase.model import checksum
from fll_hbase.model.lineage import build_lineage_lenient
from fll_hbase.model.run_events import EventRunFacts
from fll_hbase.model.runs import ProgramRun
from fll_hbase.runtime.errors import FieldError, InputError
from fll_hbase.sources.native.document import read_operations, read_run
from fll_hbase.sources.openlineage.json_access import facet, list_items, members, text
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path, items_with_path

RUN, JOB = "run.facets", "job.facets"
EXPORTER = "https://github.com/fll-hbase"
"""The producer of events that a store like this one exports."""

EXPORTED_RUN = "fll_run"
"""Facet of this project's exports: the run with its operations, so that an import loses no information."""

CATALOGUE = "fll_catalogue"
"""Facet of a dataset in this project's exports: its schema and description are the latest, not the run's."""

# The Spark agent has a facet of its own for errors, beside the `errorMessage` of the spec.
SPARK_EXCEPTION = "spark.exception"
# Bounds what each failed run stores; docs/sources/openlineage.md states it.
ERROR_CHARACTERS_MAX = 2_000


PARENT_RUN, ROOT_RUN = "parentRunId", "rootRunId"
"""Members of `fll_run`: run ids of the `parent` facet that are no UUIDs, unchanged."""


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """A run that a store of this project exported; `operations` is canonical JSON, one per line.

    `parent_id` and `root_id` are "" if the facet `parent` has them unchanged.
    """

    run: ProgramRun
    operations: str
    parent_id: str = ""
    root_id: str = ""

    def with_program(self, data: EventRunFacts) -> EventRunFacts:
        """Return the facts with the exported program, and the run ids of its parents."""
        run = self.run
        program = run.namespace, run.application, run.version, run.type, run.program
        parent, root = _with_id(data.parent, self.parent_id), _with_id(data.root, self.root_id)
        return msgspec.structs.replace(data, program=program, parent=parent, root=root)


def _with_id(reference: tuple[str, str, str] | None, run: str) -> tuple[str, str, str] | None:
    return (*reference[:2], run) if reference and run else reference


def run_facts(
    validator: Validator, run_facets: dict[str, Any], physical: Iterable[tuple[str, str, str]]
) -> EventRunFacts:
    """Read the facts of a run: parent, nominal time, error message, physical names."""
    parent = facet(validator, run_facets, "parent", RUN) or {}
    nominal = facet(validator, run_facets, "nominalTime", RUN) or {}
    path = child_path(RUN, "parent")
    return EventRunFacts(
        parent=_reference(validator, parent, path),
        root=_reference(
            validator, members(validator, parent.get("root"), child_path(path, "root"), optional=True), path
        ),
        nominal_start=text(validator, nominal, "nominalStartTime", child_path(RUN, "nominalTime")),
        nominal_end=text(validator, nominal, "nominalEndTime", child_path(RUN, "nominalTime")),
        error=_error(validator, run_facets)[:ERROR_CHARACTERS_MAX],
        physical_names=tuple(sorted(physical)),
    )


def integration(validator: Validator, job_facets: dict[str, Any]) -> str:
    """Return the integration of the `jobType` facet, such as `SPARK`; "" without one."""
    data = facet(validator, job_facets, "jobType", JOB)
    return "" if not data else text(validator, data, "integration", child_path(JOB, "jobType"))


def sql(validator: Validator, job_facets: dict[str, Any]) -> str:
    """Return the SQL text of the job; "" without one."""
    data = facet(validator, job_facets, "sql", JOB)
    return "" if not data else text(validator, data, "query", child_path(JOB, "sql"))


def lineage_entries(validator: Validator, job_facets: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Iterate over the datasets of the `lineage` facet of a job; entries of type JOB have no fields."""
    data = facet(validator, job_facets, "lineage", JOB, member="entries", member_type=list)
    if not data:
        return
    path = child_path(JOB, "lineage")
    for item, item_path in items_with_path(
        list_items(validator, data, "entries", path), child_path(path, "entries")
    ):
        entry = members(validator, item, item_path, optional=True)
        if entry.get("type") == "DATASET":
            yield entry, item_path


def read_exported_run(validator: Validator, run_facets: dict[str, Any]) -> ExportedRun | None:
    """Parse the facet `fll_run`; None if it is missing, or invalid, which is a warning for each error."""
    data = facet(validator, run_facets, EXPORTED_RUN, RUN)
    if not data:
        return None
    # A validator of its own: its paths begin at the facet, and get their prefix below.
    run_validator = Validator()
    run = read_run(run_validator, data, run_validator.required(data, "namespace", "", bytes_max=ID_BYTES_MAX))
    try:
        if not run_validator.errors:
            # Lenient: the exporting store also has runs of sources that leave out READs or WRITEs.
            info = read_operations(data, run.namespace, build=build_lineage_lenient).info
            operations = "\n".join(map(checksum.canonical, info.operations))
            parents = (_parent_id(validator, data, name) for name in (PARENT_RUN, ROOT_RUN))
            return ExportedRun(run, operations, *parents)
        faults: Iterable[FieldError] = run_validator.errors
    except InputError as error:
        faults = error.errors
    path = child_path(RUN, EXPORTED_RUN)
    for fault in faults:
        fault_path = child_path(path, fault.path) if fault.path else path
        validator.warning(fault_path, f"{fault.detail}; {path} is left out")
    return None


def _parent_id(validator: Validator, data: dict[str, Any], name: str) -> str:
    path = child_path(RUN, EXPORTED_RUN)
    errors_before = validator.errors.count
    given = validator.optional(data, name, path, bytes_max=ID_BYTES_MAX)
    return "" if validator.leave_out(child_path(path, name), errors_before=errors_before) else given


def _error(validator: Validator, run_facets: dict[str, Any]) -> str:
    """Return the error message of a failed run; for the Spark agent the first line of the stack trace."""
    data = facet(validator, run_facets, "errorMessage", RUN)
    if data is not None:
        return text(validator, data, "message", child_path(RUN, "errorMessage"))
    # The first line of a trace names the exception; the rest is code locations.
    data = facet(validator, run_facets, SPARK_EXCEPTION, RUN) or {}
    return text(validator, data, "stackTrace", child_path(RUN, SPARK_EXCEPTION)).partition("\n")[0]


def _reference(validator: Validator, holder: dict[str, Any], path: str) -> tuple[str, str, str] | None:
    """Read the namespace and name of a job and its run id; None without a run."""
    if not holder:
        return None
    run = members(validator, holder.get("run"), child_path(path, "run"), optional=True)
    job = members(validator, holder.get("job"), child_path(path, "job"), optional=True)
    if not run:
        return None
    errors_before = validator.errors.count
    reference = (
        validator.optional(job, "namespace", child_path(path, "job"), bytes_max=ID_BYTES_MAX),
        validator.optional(job, "name", child_path(path, "job"), bytes_max=NAME_BYTES_MAX),
        validator.required(run, "runId", child_path(path, "run"), bytes_max=ID_BYTES_MAX),
    )
    return None if validator.leave_out(path, errors_before=errors_before) else reference
