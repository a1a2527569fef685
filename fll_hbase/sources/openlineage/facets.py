"""Facets of runs and jobs: parents, times, errors, SQL, job lineage and exported runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from fll_hbase.model import checksum
from fll_hbase.model.lineage import build_lineage_lenient
from fll_hbase.model.run_events import EventRunFacts, standard_run_id
from fll_hbase.model.runs import ProgramRun
from fll_hbase.runtime.errors import FieldError, InputError
from fll_hbase.sources.native.document import read_operations, read_run
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, Validator, child_path

DELETED = "_deleted"
_MISSING = Part(Validator(), None)
EXPORTER = "https://github.com/fll-hbase"
"""The producer of events exported by a store like this one."""

EXPORTED_RUN = "fll_run"
"""Facet of this project's exports: the run with its operations, so that an import loses no information."""

CATALOGUE = "fll_catalogue"
"""Facet of exported datasets whose schema and description are the latest ones, not the run's."""

# The Spark agent has its own facet for errors in addition to the spec's `errorMessage`.
SPARK_EXCEPTION = "spark.exception"
# Bounds the stored text of each failed run; stated in docs/record/openlineage.md.
ERROR_CHARACTERS_MAX = 2_000


PARENT_RUN, ROOT_RUN = "parentRunId", "rootRunId"
"""Members of `fll_run`: run ids of the `parent` facet that are not UUIDs, unchanged."""


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """A run that a store of this project exported; `operations` is canonical JSON, one per line.

    `parent_id` and `root_id` are "" if the facet `parent` contains the ids unchanged.
    """

    run: ProgramRun
    operations: str
    parent_id: str
    root_id: str

    def with_program(self, data: EventRunFacts) -> EventRunFacts:
        """Return the facts with the exported program and with the run ids of its parents."""
        run = self.run
        program = run.namespace, run.application, run.version, run.type, run.program
        parent, root = _with_id(data.parent, self.parent_id), _with_id(data.root, self.root_id)
        return msgspec.structs.replace(data, program=program, parent=parent, root=root)


def _with_id(reference: tuple[str, str, str] | None, run: str) -> tuple[str, str, str] | None:
    """Return a reference to a job's run with `run` as its run id, or unchanged if either is empty."""
    return (*reference[:2], run) if reference and run else reference


def facet(
    facets: Part, name: str, *, member: str = "", member_type: type[dict[str, Any]] | type[list[Any]] = dict
) -> Part:
    """Return a facet: a part that is not an object if it is missing, an empty object if it is deleted.

    If `member` is present but not of `member_type`, the facet counts as missing, with a warning, because an
    empty facet would replace an earlier event's.
    """
    # Most facets are missing, and a missing facet cannot have errors.
    if facets.get(name) is None:
        return _MISSING
    part = facets.optional_object(name)
    # A deleted facet is newer information (spec: `_deleted`), while a missing facet changes nothing.
    if part.get(DELETED) is True:
        return Part(part.validator, {}, part.path)
    value = part.get(member) if member else None
    if value is not None and not isinstance(value, member_type):
        part.member(member).warn_type("an object" if member_type is dict else "an array")
        return Part(part.validator, None, part.path)
    return part


def run_facts(run_facets: Part, physical: Iterable[tuple[str, str, str]]) -> EventRunFacts:
    """Return the facts of a run: parent, root, nominal times, error (cut), and `physical` names, sorted."""
    parent, nominal = facet(run_facets, "parent"), facet(run_facets, "nominalTime")
    if not parent.is_object:
        # Earlier clients use this name.
        parent = facet(run_facets, "parentRun")
    return EventRunFacts(
        parent=_reference(parent),
        root=_reference(parent.optional_object("root")),
        nominal_start=nominal.text("nominalStartTime"),
        nominal_end=nominal.text("nominalEndTime"),
        error=_error(run_facets)[:ERROR_CHARACTERS_MAX],
        physical_names=tuple(sorted(physical)),
    )


def lineage_entries(job_facets: Part) -> Iterator[Part]:
    """Yield the datasets in the `lineage` facet of a job; other entries, of type JOB, have no fields."""
    data = facet(job_facets, "lineage", member="entries", member_type=list)
    for entry in data.optional_items("entries"):
        if entry.as_optional_object().get("type") == "DATASET":
            yield entry


def read_exported_run(run_facets: Part) -> ExportedRun | None:
    """Return the run in the facet `fll_run`, or None if missing or (warned) invalid. Raises TooLarge."""
    part = facet(run_facets, EXPORTED_RUN)
    if not part.members:
        return None
    # A separate validator, because its paths begin at the facet and get their prefix below.
    top = Part(Validator(), part.members)
    run = read_run(top, top.required("namespace", bytes_max=ID_BYTES_MAX))
    try:
        if not top.validator.errors:
            # Lenient, because the exporting store also has runs of sources that leave out READs or WRITEs.
            info = read_operations(part.members, run.namespace, build=build_lineage_lenient).info
            operations = "\n".join(map(checksum.canonical, info.operations))
            return ExportedRun(run, operations, _parent_id(part, PARENT_RUN), _parent_id(part, ROOT_RUN))
        faults: Iterable[FieldError] = top.validator.errors
    except InputError as error:
        faults = error.errors
    for fault in faults:
        path = child_path(part.path, fault.path) if fault.path else part.path
        part.validator.warning(path, f"{fault.detail}; {part.path} is left out")
    return None


def _parent_id(run: Part, name: str) -> str:
    """Return an optional run id of the facet `fll_run`, or "" if it is missing or (warned) invalid."""
    if run.get(name, "") == "":
        return ""
    return run.member(name).readable(partial(Part.name, bytes_max=ID_BYTES_MAX)) or ""


def _error(run_facets: Part) -> str:
    """Return the error message of a failed run, else the first line of the Spark agent's stack trace."""
    message = facet(run_facets, "errorMessage")
    if message.is_object:
        return message.text("message")
    # The first line of a trace names the exception; the other lines are code locations.
    return facet(run_facets, SPARK_EXCEPTION).text("stackTrace").partition("\n")[0]


def run_id(run: Part) -> str:
    """Return the id of a run, a UUID in lower case; `?` with an error if it is invalid."""
    return standard_run_id(run.required("runId", bytes_max=ID_BYTES_MAX))


def _reference(holder: Part) -> tuple[str, str, str] | None:
    """Return a job's namespace and name and its run id, or None if missing or (warned) unreadable."""
    if not holder.members:
        return None
    run, job = holder.optional_object("run"), holder.optional_object("job")
    if not run.members:
        return None
    return holder.readable(
        lambda _: (
            job.optional("namespace", bytes_max=ID_BYTES_MAX),
            job.optional("name", bytes_max=NAME_BYTES_MAX),
            run_id(run),
        )
    )
