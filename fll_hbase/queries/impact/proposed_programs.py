"""Proposals: the programs that documents of a change describe, with what they would write."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.ingest.registry import DocumentReader, detect
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.lineage import FieldLineageInfo, build_lineage_lenient
from fll_hbase.model.masking import mask_operations
from fll_hbase.model.runs import ProgramId, ProgramRun, RecordedRun
from fll_hbase.runtime.errors import FieldError, InputError, UnreadableDocument
from fll_hbase.sources.validation import child_path

DOCUMENTS_MAX = 100
"""Maximum number of documents of one change. One document may describe thousands of dbt models."""

_BUILT = ("model.", "seed.", "snapshot.")
_RUN_RESULTS = "runResults"


@dataclass(frozen=True, slots=True)
class ProposedProgram:
    """A program of the change: its run, and what it would read and write."""

    run: ProgramRun
    info: FieldLineageInfo


@dataclass(slots=True)
class Proposal:
    """The programs of a change, types of fields from its metadata, and warnings of its documents.

    Names of namespaces that `may_read` refuses are hidden as in recorded contents, to compare both.
    `projects` are dbt projects as (namespace, project), with the unique ids of models, seeds and snapshots.
    """

    may_read: Callable[[str], bool]
    programs: dict[ProgramId, ProposedProgram] = field(default_factory=dict)
    types: dict[DatasetField, str] = field(default_factory=dict)
    projects: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    warnings: list[FieldError] = field(default_factory=list)

    def add(self, document: ParsedDocument, path: str) -> None:
        """Add the runs and metadata of a document.

        Raises UnreadableDocument, after adding some of its runs, for events, and for programs that this or an
        earlier document describes already: neither description says what the program no longer writes.
        """
        errors: list[FieldError] = []
        for run in document.runs:
            if not isinstance(run, RecordedRun):
                detail = "an event reports a run that has happened: describe a change by a whole document"
                raise UnreadableDocument([FieldError("", detail)])
            name = run.run.program_id
            if name in self.programs:
                errors.append(FieldError("", f"describes {name} again"))
            self.programs[name] = ProposedProgram(run.run, self._visible(run.info))
        if errors:
            raise UnreadableDocument(errors)
        for metadata in document.metadata:
            for item in metadata.fields:
                if item.type:
                    self.types[DatasetField(metadata.dataset, item.name)] = item.type
        self.warnings += (
            FieldError(_within(path, item.path), item.detail, item.count) for item in document.warnings
        )

    def _visible(self, info: FieldLineageInfo) -> FieldLineageInfo:
        """Return a lineage without hidden names."""
        if all(self.may_read(dataset.namespace) for dataset in (*info.sources, *info.destinations)):
            return info
        return build_lineage_lenient(mask_operations(info.operations, self.may_read))


def read_proposal(
    documents: Sequence[Mapping[str, Any]],
    reader: DocumentReader,
    *,
    namespace: str,
    now_ms: int,
    may_read: Callable[[str], bool],
) -> Proposal:
    """Read the documents of a change as recording would read them, and store nothing.

    Run results of dbt are ignored: the manifest has the SQL of all models. Raises UnreadableDocument with the
    errors of all documents, whose paths begin with `documents.<number>`. Raises TooLarge and StoreUnavailable
    at the first document that has one.
    """
    proposal = Proposal(may_read)
    errors: list[FieldError] = []
    for number, document in enumerate(documents):
        path = f"documents.{number}"
        content = {name: value for name, value in document.items() if name != _RUN_RESULTS}
        try:
            # The standard library, because a reader names numbers that are too large for other encoders.
            raw = json.dumps(content).encode()
        except (TypeError, ValueError) as error:
            errors.append(FieldError(path, f"is not JSON: {error}"))
            continue
        head = detect(raw)
        try:
            parsed = reader.read(raw, head, namespace=namespace or None, now_ms=now_ms)
            proposal.add(parsed, path)
        except InputError as error:
            errors += (FieldError(_within(path, item.path), item.detail, item.count) for item in error.errors)
        else:
            for name, project in _projects(content, namespace) if head.format.name == "dbt" else ():
                proposal.projects.setdefault(name, set()).update(project)
    if errors:
        raise UnreadableDocument(errors)
    return proposal


def _within(document: str, path: str) -> str:
    """Return a path within a document; "" is the document itself."""
    return child_path(document, path) if path else document


def _projects(document: Mapping[str, Any], namespace: str) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """Yield the project of a readable document of dbt with the ids of models, seeds and snapshots, if any."""
    manifest = document.get("manifest")
    if isinstance(manifest, dict):
        nodes = manifest.get("nodes")
        names = {name for name in nodes if name.startswith(_BUILT)} if isinstance(nodes, dict) else set()
        project = manifest["metadata"].get("project_name")
        if isinstance(project, str) and project:
            yield (document.get("namespace") or namespace, project), names
