"""A store as one principal sees it: the methods of LineageStore, without anything hidden from the principal.

All reads go through VisibleTable and VisibleRuns, so even methods that are not overridden here show a label
instead of a hidden name. The methods here number these labels, and sort again by the numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.retention import RetentionRequest
from fll_hbase.model.access import Principal, Role
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata
from fll_hbase.model.masking import HIDDEN, HIDDEN_NAMESPACE
from fll_hbase.model.runs import RecordedRun, RunKey
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import damage, deadline
from fll_hbase.runtime.errors import CorruptRow, Forbidden, LineageError, NotFound, RunIdConflict
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import (
    BATCH_FIELDS,
    HIDDEN_AFTER,
    FlowQuery,
    ReachQuery,
    RetentionQuery,
    RunsQuery,
)
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import Content, retry_on_missing_content
from fll_hbase.store.read.field_programs import FieldProgramReader, FieldPrograms
from fll_hbase.store.read.field_summaries import (
    DatasetSummary,
    FieldSummaryReader,
    RelatedDataset,
    RelatedFields,
)
from fll_hbase.store.read.reach import edge_key
from fll_hbase.store.read.run_reader import program_order
from fll_hbase.store.results import (
    CommitResult,
    DatasetDiff,
    DatasetLineageResult,
    Derivations,
    ExpiredField,
    FieldDiff,
    FieldHistory,
    FieldLineageResult,
    Flow,
    FlowReport,
    Programs,
    Reach,
    RetentionReport,
    RunDetails,
    RunsPage,
    WrittenField,
    sort_entries,
)
from fll_hbase.store.retention_requests import Affected, RetentionRequests
from fll_hbase.store.rights.numbering import number_hidden, number_in_order
from fll_hbase.store.rights.recording_rights import RecordingRights, run_id_in_use
from fll_hbase.store.rights.visible_runs import VisibleRuns
from fll_hbase.store.rights.visible_table import VisibleTable
from fll_hbase.store.rows import tag_rows
from fll_hbase.store.tags import TagStore
from fll_hbase.store.write import run_owner
from fll_hbase.store.write.batching import RunInput, run_key_of

T = TypeVar("T")
ResultT = TypeVar(
    "ResultT",
    DatasetLineageResult,
    FieldLineageResult,
    Derivations,
    Reach,
    FieldDiff,
    DatasetDiff,
    FlowReport,
    RetentionReport,
)

_DECISIONS_MAX = 10_000
"""Maximum number of namespaces with a cached decision on whether the principal may read them."""

_READ_SHARE = 0.9
"""The share of the time that is left for reading an answer; the rest is for finding its hidden runs."""


class NumberedSummaryReader(FieldSummaryReader):
    """Reads summaries of windows as a principal sees them."""

    def related_fields(self, field: DatasetField, window: Window, direction: Direction) -> RelatedFields:
        """Return, sorted, a field's sources (backward) or fields derived from it, numbering hidden names."""
        result = number_hidden(super().related_fields(field, window, direction))
        return replace(result, fields=tuple(sorted(result.fields)))

    def summary(self, dataset: Dataset, window: Window, lineage: DatasetLineageResult) -> DatasetSummary:
        """Return the summary of a dataset from its lineage of one hop, whose names are already numbered."""
        result = super().summary(dataset, window, lineage)
        return replace(result, incoming=_sorted(result.incoming), outgoing=_sorted(result.outgoing))


class NumberedProgramReader(FieldProgramReader):
    """Reads the programs of a field as a principal sees them."""

    def read(self, field: DatasetField, window: Window, direction: Direction) -> FieldPrograms:
        """Return the operations of a field, with the programs that performed them."""
        return number_hidden(super().read(field, window, direction))


def _sorted(related: tuple[RelatedDataset, ...]) -> tuple[RelatedDataset, ...]:
    """Return related datasets sorted by dataset."""
    return tuple(sorted(related, key=lambda item: item.dataset))


class VisibleTags(TagStore):
    """Tags as seen by a principal who may not see all of them."""

    def tags(self, *, start_after: str = "") -> Iterator[str]:
        """Yield, sorted, the tags after `start_after` that visible fields have, leaving out damaged rows."""
        # Collect them from visible fields, because the tag index also has tags of hidden fields.
        names: set[str] = set()
        rows = self._table.scan(*ranges.prefix_range(layout.TAGS), columns=(layout.LIGHT,))
        for number, (key, row) in enumerate(rows):
            if number % BATCH_FIELDS == 0:
                deadline.check()
            with damage.leaving_out():
                names.update(tag.tag for tag in tag_rows.decode_tags(key, row))
        yield from sorted(tag for tag in names if tag > start_after)


class PagePosition(NamedTuple):
    """The start of a page of runs: after a reference tail, and a number of hidden runs that follow it."""

    tail: bytes
    hidden: int

    @classmethod
    def parse(cls, start_after: bytes, *, hidden_max: int) -> PagePosition:
        """Return the position in a validated `start_after`; a higher count is lowered to `hidden_max`."""
        tail, _, hidden = start_after.partition(HIDDEN_AFTER)
        return cls(tail, min(int(hidden or 0), hidden_max))

    def next_after(self, page: RunsPage, is_hidden: Sequence[bool]) -> bytes:
        """Return the position after a page that began at this tail and ends with a hidden run.

        The position contains no ids of hidden runs. It counts them from the last visible run with the start
        time of the page's last run, else from the beginning of that start time, or from this tail if all have
        its time. `page` includes the `hidden` runs that this position skips.
        """
        start_ms = page.runs[-1].run.start_ms
        count = 0
        for listed, key, hidden in zip(
            reversed(page.runs), reversed(page.keys), reversed(is_hidden), strict=True
        ):
            if listed.run.start_ms != start_ms:
                break
            if not hidden:
                return layout.reference_tail(start_ms, *key) + HIDDEN_AFTER + b"%d" % count
            count += 1
        start = layout.reference_tail(start_ms, "")
        is_same_start = count == len(page.runs) and self.tail.startswith(start)
        return (self.tail if is_same_start else start) + HIDDEN_AFTER + b"%d" % count


class CheckedRetention(RetentionRequests):
    """Counts and stores requests that the principal may make. `catalogue` belongs to the view.

    Methods raise Forbidden, NotFound, TooLarge, StoreUnavailable and CorruptRow.
    """

    def __init__(self, base: LineageStore, catalogue: Catalogue, principal: Principal) -> None:
        self._base = base.retention
        self._names = base.catalogue.names
        self._catalogue = catalogue
        self._principal = principal

    def count(self, request: RetentionRequest) -> Affected:
        """Return how many runs, hidden ones too, the request affects, within half of the time left."""
        self._check(request)
        return self._base.count(request)

    def put(self, request: RetentionRequest) -> None:
        """Store a request durably, for all names of its dataset."""
        self._check(request)
        self._base.put(request)

    def _check(self, request: RetentionRequest) -> None:
        """Raise Forbidden without the role `admin` on all names of the dataset, or everywhere if it is None.

        Raises NotFound for a dataset that the principal may not see.
        """
        dataset = request.dataset
        if dataset is None:
            if not self._principal.may_everywhere(Role.ADMIN):
                raise Forbidden("this needs the role `admin` on all namespaces; nothing was changed")
            return
        # Check visibility first: a principal who may not see the dataset must not learn that it exists.
        self._catalogue.require_dataset(dataset)
        if not all(self._principal.may(Role.ADMIN, name.namespace) for name in self._names(dataset)):
            raise Forbidden(
                f"this needs the role `admin` on namespace {dataset.namespace!r} and on the namespaces of all"
                " names of the dataset; nothing was changed"
            )


class StoreView(LineageStore):
    """Queries and records like LineageStore, and raises its errors, on behalf of a principal.

    Answers have numbers in place of hidden names. Threads may share it.
    """

    def __init__(self, base: LineageStore, principal: Principal) -> None:
        self._base = base
        self._rights = RecordingRights(principal)
        may_read = self._may_read = lru_cache(_DECISIONS_MAX)(partial(principal.may, Role.READER))
        self._visible = VisibleTable(
            base.table,
            may_read=may_read,
            may_change=partial(_may_change, principal),
            patterns=principal.patterns(Role.READER),
        )
        events = self._visible_runs = VisibleRuns(
            base.table, may_read=may_read, shared=base.components.events
        )
        super().__init__(
            self._visible,
            base.settings,
            clock=base.clock,
            events=events,
            contents=base.components.contents.for_view(
                self._visible,
                public_checksum=self._visible.public_checksum,
                # Do not scope by grants: contents that an earlier view masked would show its labels.
                scope=object(),
            ),
            # A view does not change stored data.
            make_sealer=lambda sealer: None,
        )
        self.summaries = NumberedSummaryReader(self.components)
        self.field_programs = NumberedProgramReader(self.components)
        self.retention = CheckedRetention(base, self.catalogue, principal)
        if not principal.may_everywhere(Role.READER):
            self.tags = VisibleTags(self._visible, self.catalogue, clock=base.clock)

    def record(self, runs: Sequence[RunInput]) -> list[CommitResult | LineageError]:
        """Record the runs that the principal may record; return one result each, in order, durable on return.

        The others result in Forbidden, or in RunIdConflict without the owner. Raises as LineageStore does:
        StoreUnavailable, or CorruptRow for a damaged file.
        """
        checked = self._checked(runs)
        accepted = [run for run in checked if not isinstance(run, LineageError)]
        results = iter(self._base.record(accepted) if accepted else [])
        return [run if isinstance(run, LineageError) else _anonymous(run, next(results)) for run in checked]

    def record_one(self, run: RunInput) -> CommitResult:
        """Record one run or event, durably. Raises Forbidden, and RunIdConflict without the owner.

        Raises ChecksumConflict, TooLarge, CorruptRow and StoreUnavailable, too.
        """
        (checked,) = self._checked([run])
        if isinstance(checked, LineageError):
            raise checked
        try:
            return self._base.record_one(checked)
        except RunIdConflict as error:
            raise run_id_in_use(run_key_of(run).run) from error

    def find_conflicts(self, runs: Sequence[RecordedRun]) -> list[RunIdConflict | None]:
        """Return for each run, in order, the conflict that recording it would cause, or None; name no owner.

        Raises Forbidden if any of the runs may not be recorded, StoreUnavailable and CorruptRow.
        """
        checked = self._checked(runs)
        conflicts = self._base.find_conflicts(runs)
        listed: list[RunIdConflict | None] = []
        for run, check, conflict in zip(runs, checked, conflicts, strict=True):
            if isinstance(check, LineageError) and not isinstance(check, RunIdConflict):
                raise check
            in_use = isinstance(check, RunIdConflict) or conflict is not None
            listed.append(run_id_in_use(run.run.run) if in_use else None)
        return listed

    def may_read(self, namespace: str) -> bool:
        """Return whether the principal may read a namespace."""
        return self._may_read(namespace)

    def put_metadata(self, metadata: Iterable[DatasetMetadata]) -> None:
        """Put the metadata, aliases and tags that the principal may put, durably; ignore others silently."""
        self._base.put_metadata(self._rights.check_metadata(metadata))

    def may_tag(self, dataset: Dataset) -> bool:
        """Return whether the principal may put tags of the fields of a dataset."""
        return self._rights.may_tag(dataset.namespace)

    def lineage(self, dataset: Dataset, window: Window, **query: Any) -> DatasetLineageResult:
        """Return field lineage between datasets, sorted; hidden datasets have numbers, and no fields."""
        result = self._shown(super().lineage(dataset, window, **query))
        return replace(result, entries=sort_entries(result.entries))

    def field_lineage(self, field: DatasetField, window: Window, **query: Any) -> FieldLineageResult:
        """Return the operations of a field, with hidden datasets in place of their READs and WRITEs."""
        result = self._shown(super().field_lineage(field, window, **query))
        checksums = self._visible.public_checksums(result.checksums)
        return replace(result, checksums=tuple(dict.fromkeys(checksums.values())))

    def field_derivations(self, field: DatasetField, window: Window, **query: Any) -> Derivations:
        """Return every distinct derivation of the field, as shown, with its runs."""
        with deadline.shared(_READ_SHARE):
            result = self._shown(super().field_derivations(field, window, **query))
        runs = self._shown_runs([run for item in result.derivations for run in item.runs])
        shown = (replace(item, runs=tuple(map(runs.__getitem__, item.runs))) for item in result.derivations)
        return replace(result, derivations=tuple(shown)) if runs else result

    def reach(self, query: ReachQuery) -> Reach:
        """Return the fields within reach; the walk ends at hidden datasets, which have one field, `*`."""
        with deadline.shared(_READ_SHARE):
            stored = super().reach(query)
        result = self._shown(stored)
        if result is not stored:
            edges = tuple(sorted(result.edges, key=edge_key))
            result = replace(result, edges=edges, unknown=tuple(sorted(result.unknown)))
        runs = self._shown_runs([edge.span.last_run for edge in result.edges if edge.span])
        if not any(runs[run] is not run for run in runs):
            return result
        edges = tuple(
            edge._replace(span=edge.span._replace(last_run=runs[edge.span.last_run])) if edge.span else edge
            for edge in result.edges
        )
        return replace(result, edges=edges)

    def history(self, field: DatasetField, window: Window, **query: Any) -> FieldHistory:
        """Return the stretches of runs that derived the field in the same way, with public checksums."""
        with deadline.shared(_READ_SHARE):
            result = super().history(field, window, **query)
        checksums = self._visible.public_checksums(stretch.checksum for stretch in result.stretches)
        runs = self._shown_runs([run for item in result.stretches for run in (item.last_run, item.first_run)])
        stretches = (
            replace(
                item,
                checksum=checksums[item.checksum],
                first_run=runs[item.first_run],
                last_run=runs[item.last_run],
            )
            for item in result.stretches
        )
        return replace(result, stretches=tuple(stretches))

    def diff(self, field: DatasetField, window: Window, base: Window, **query: Any) -> FieldDiff:
        """Return how the derivations of the field, as shown, differ between two windows."""
        return self._shown(super().diff(field, window, base, **query))

    def dataset_diff(self, dataset: Dataset, window: Window, base: Window, **query: Any) -> DatasetDiff:
        """Return the fields whose derivations, as shown, differ between two windows."""
        return self._shown(super().dataset_diff(dataset, window, base, **query))

    def runs(self, dataset: Dataset, window: Window, **query: Any) -> RunsPage:
        """Return a page of the runs of a dataset; hidden programs are numbered instead of named."""
        position = PagePosition.parse(query.pop("start_after", b""), hidden_max=self.settings.runs_max)
        limit = query.pop("limit")
        page = super().runs(
            dataset, window, limit=limit + position.hidden, start_after=position.tail, **query
        )
        is_hidden = [listed.run.namespace == HIDDEN_NAMESPACE for listed in page.runs]
        if page.next_after and is_hidden[-1]:
            page = replace(page, next_after=position.next_after(page, is_hidden))
        first = position.hidden
        shown = replace(
            page, runs=page.runs[first:], keys=page.keys[first:], unknown_columns=page.unknown_columns[first:]
        )
        return self._numbered_page(shown)

    def namespace_runs(self, query: RunsQuery, **page: Any) -> RunsPage:
        """Return a page of the runs of one namespace's programs, or of all readable ones."""
        return self._numbered_page(super().namespace_runs(query, **page))

    def programs(self, dataset: Dataset, window: Window, **query: Any) -> Programs:
        """Return the programs of a dataset; hidden ones are numbered instead of named."""
        result = self._numbered(super().programs(dataset, window, **query))
        programs, unknown = (
            tuple(sorted(listed, key=program_order)) for listed in (result.programs, result.unknown_columns)
        )
        return replace(result, programs=programs, unknown_columns=unknown)

    def retention_report(self, query: RetentionQuery) -> RetentionReport:
        """Return where visible data is older than a policy allows."""
        result = self._shown(super().retention_report(query))
        return replace(
            result,
            fields=tuple(map(_with_sorted_programs, result.fields)),
            unknown=tuple(sorted(result.unknown)),
        )

    def flow_report(self, query: FlowQuery) -> FlowReport:
        """Return where visible data goes against a policy; no flow leads to a hidden dataset."""
        result = self._shown(super().flow_report(query))
        return replace(
            result,
            flows=tuple(map(_with_sorted_flow_programs, result.flows)),
            unknown=tuple(sorted(result.unknown)),
        )

    def run(self, run: str, namespace: str = "") -> RunDetails:
        """Return a run as shown. Raises NotFound, also if its program is hidden, and AmbiguousName."""
        return self._with_public_checksum(self._numbered(super().run(run, namespace)))

    @retry_on_missing_content
    def run_with_content(self, run: str, namespace: str = "") -> tuple[RunDetails, Content]:
        """Return a run with its content, as shown. Raises NotFound and AmbiguousName, as `run`."""
        details = super().run(run, namespace)
        shown = details, self._contents.content(details.committed.checksum)
        numbered, content = self._numbered(shown)
        return self._with_public_checksum(numbered), content

    def content(self, checksum: str) -> Content:
        """Return a content by its checksum. Raises NotFound unless it is fully visible."""
        if not self._visible.shows_whole(checksum):
            raise NotFound(f"content {checksum} not found; GET /v3/runs/<run> returns the checksum of a run")
        return super().content(checksum)

    def run_details(self, page: RunsPage) -> list[tuple[RunDetails, Content]]:
        """Return the details and content of each run of a page, as shown."""
        shown = self._numbered(super().run_details(page))
        return [(self._with_public_checksum(details), content) for details, content in shown]

    def close(self) -> None:
        """Change nothing: the underlying store stays open."""

    def _checked(self, runs: Sequence[RunInput]) -> list[RunInput | LineageError]:
        """Return each run as it may be recorded, or its error, reading the owners of all run ids at once."""
        keys = [run_key_of(run) for run in runs]
        events = self._base.components.events
        stored = run_owner.stored_rows(self._base.table, events, set(keys))
        committed = events.committed_runs(dict(stored.values()))
        owners = {key: committed[row_key].run for key, (row_key, _) in stored.items() if row_key in committed}
        return [self._rights.checked(run, owners.get(key)) for key, run in zip(keys, runs, strict=True)]

    def _shown(self, result: ResultT) -> ResultT:
        """Return a result with numbers for its labels, and HIDDEN as a limit if it has any label."""
        numbered = self._numbered(result)
        if numbered is result:
            return result
        return replace(numbered, truncated_by=tuple(sorted({*result.truncated_by, HIDDEN})))

    def _shown_runs(self, runs: Sequence[RunKey]) -> dict[RunKey, RunKey]:
        """Return each run as shown: hidden runs, in their order, have numbers in place of ids."""
        labels = self._visible_runs.hidden_labels(dict.fromkeys(runs))
        if not labels:
            return dict(zip(runs, runs, strict=True))
        names = number_in_order(labels.values())
        return {run: RunKey(names[labels[run]]) if run in labels else run for run in runs}

    def _numbered(self, result: T) -> T:
        """Return a result with numbers for its labels; the same object if nothing is hidden."""
        has_hidden = self._visible.has_masked or self._visible_runs.has_hidden
        return number_hidden(result) if has_hidden else result

    def _numbered_page(self, page: RunsPage) -> RunsPage:
        """Return a page with public checksums and numbered programs, without runs of damaged contents."""
        checksums = self._readable_checksums({listed.checksum for listed in page.runs})
        readable = [
            (listed, key)
            for listed, key in zip(page.runs, page.keys, strict=True)
            if listed.checksum in checksums
        ]
        runs = tuple(listed for listed, _ in readable)
        # Only the program of a listed run may be hidden.
        has_hidden = any(listed.run.namespace == HIDDEN_NAMESPACE for listed in runs)
        shown = (
            listed
            if checksums[listed.checksum] == listed.checksum
            else replace(listed, checksum=checksums[listed.checksum])
            for listed in (number_hidden(runs) if has_hidden else runs)
        )
        # The counts before runs that are left out stay, because answers show their sum.
        return replace(page, runs=tuple(shown), keys=tuple(key for _, key in readable))

    def _readable_checksums(self, checksums: Collection[str]) -> dict[str, str]:
        """Return the public checksums of contents, leaving out damaged contents."""
        try:
            return self._visible.public_checksums(checksums)
        except CorruptRow:
            shown: dict[str, str] = {}
            for checksum in checksums:
                with damage.leaving_out():
                    shown |= self._visible.public_checksums([checksum])
            return shown

    def _with_public_checksum(self, details: RunDetails) -> RunDetails:
        """Return a run with the public checksum of its content."""
        checksum = self._visible.public_checksum(details.committed.checksum)
        return replace(details, committed=details.committed._replace(checksum=checksum))


def _may_change(principal: Principal, role: Role, namespace: str | None) -> bool:
    """Return whether the principal has a role in a namespace, or in all namespaces for None."""
    return principal.may_everywhere(role) if namespace is None else principal.may(role, namespace)


def _with_sorted_programs(item: ExpiredField) -> ExpiredField:
    """Return an item of a retention report with its programs sorted by program id."""
    programs = sorted(item.written.programs, key=lambda program: program.newest.program_id)
    return replace(item, written=WrittenField(tuple(programs)))


def _with_sorted_flow_programs(flow: Flow) -> Flow:
    """Return a flow with its programs sorted by program id."""
    programs = sorted(flow.programs, key=lambda program: program.runs.newest.program_id)
    return replace(flow, programs=tuple(programs))


def _anonymous(run: RunInput, result: CommitResult | LineageError) -> CommitResult | LineageError:
    """Return a result, replacing a RunIdConflict with one that does not name the owner of the run id."""
    # Such a conflict comes from a run that was stored after its owner was looked up.
    return run_id_in_use(run_key_of(run).run) if isinstance(result, RunIdConflict) else result
