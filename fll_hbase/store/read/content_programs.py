"""Programs of the contents that wrote or read datasets in a window, each with its last run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.masking import HIDDEN, HIDDEN_NAMESPACE, is_hidden
from fll_hbase.model.runs import ProgramId, ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import retry_on_missing_content
from fll_hbase.store.read.run_reader import newest_first_key
from fll_hbase.store.read.run_times import TimesByName
from fll_hbase.store.read.traversal import DATASETS_PER_READ


class LastContent(NamedTuple):
    """A run, the checksum of its content, and the name under which the content writes the dataset."""

    run: ProgramRun
    checksum: str
    name: Dataset


class FieldReaders(NamedTuple):
    """The last run of each program that reads some fields, the newest run first.

    `unknown` are further programs that read the datasets of the fields without naming fields.
    """

    programs: tuple[ProgramRun, ...]
    unknown: tuple[ProgramRun, ...]


_LastRuns: TypeAlias = dict[ProgramId, ProgramRun]


class _ContentPrograms(NamedTuple):
    """The last run of each program with a content that has a dataset under one of its names."""

    name: Dataset
    checksum: str
    last_runs: _LastRuns


class ContentProgramReader(Reader):
    """Reads programs by what they wrote or read in one window, without failed runs.

    It keeps what it has read of a dataset for the next call. `truncated_by` has the limits that cut results:
    `runs_max`, and `hidden` if readers of hidden namespaces are left out. Methods raise StoreUnavailable,
    DeadlineExceeded and CorruptRow.
    """

    def __init__(self, components: StoreComponents, window: Window) -> None:
        super().__init__(components)
        self.truncated_by: set[str] = set()
        self._window = window
        self._read: dict[tuple[Direction, Dataset], list[_ContentPrograms]] = {}

    @retry_on_missing_content
    def last_contents(
        self, programs: Mapping[Dataset, Collection[ProgramId]]
    ) -> dict[tuple[ProgramId, Dataset], LastContent]:
        """Return the last content with which each program wrote each of its datasets, if it did at all."""
        self._load(Direction.BACKWARD, programs)
        last: dict[tuple[ProgramId, Dataset], LastContent] = {}
        for dataset, wanted in programs.items():
            for name, checksum, last_runs in self._read[Direction.BACKWARD, dataset]:
                for program in last_runs.keys() & wanted:
                    content = LastContent(last_runs[program], checksum, name)
                    key = program, dataset
                    last[key] = min(content, last.get(key, content), key=_newest_first)
        return last

    @retry_on_missing_content
    def field_readers(self, fields: Collection[DatasetField]) -> FieldReaders:
        """Return the programs that read any of the fields, ignoring hidden datasets; `*` is every field."""
        names: dict[Dataset, set[str]] = defaultdict(set)
        for field in fields:
            if not is_hidden(field.dataset):
                names[field.dataset].add(field.name)
        self._load(Direction.FORWARD, names)
        readers: _LastRuns = {}
        unknown: _LastRuns = {}
        for dataset, wanted in names.items():
            for content in self._read[Direction.FORWARD, dataset]:
                field_map = self._contents.field_map(content.checksum)
                if _reads_any(field_map, content.name, wanted):
                    _add(readers, content.last_runs.values())
                elif field_map.may_read_more(content.name):
                    _add(unknown, content.last_runs.values())
        others = (run for program, run in unknown.items() if program not in readers)
        return FieldReaders(
            tuple(sorted(readers.values(), key=newest_first_key)), tuple(sorted(others, key=newest_first_key))
        )

    def _load(self, direction: Direction, datasets: Iterable[Dataset]) -> None:
        """Read the contents of datasets that were not yet read, and their programs; note limits."""
        missing = sorted(dataset for dataset in datasets if (direction, dataset) not in self._read)
        for begin in range(0, len(missing), DATASETS_PER_READ):
            chunk = missing[begin : begin + DATASETS_PER_READ]
            budget = self._times.budget()
            times = self._times.times([WindowQuery(direction, item, self._window) for item in chunk], budget)
            self._contents.load(
                checksum for by_name in times for listed in by_name.values() for checksum in listed
            )
            for dataset, by_name in zip(chunk, times, strict=True):
                self._read[direction, dataset] = list(self._programs(direction, by_name))
            self.truncated_by |= budget.limits

    def _programs(self, direction: Direction, by_name: TimesByName) -> Iterator[_ContentPrograms]:
        """Yield a dataset's contents with the last run of each visible program; forward, note hidden ones."""
        days = [
            (checksum, day)
            for listed in by_name.values()
            for checksum, times in listed.items()
            for day in times.runs
        ]
        checksums = {run.key: checksum for checksum, day in days for run in day.runs}
        last_runs: dict[str, _LastRuns] = defaultdict(dict)
        for runs, run in self._windows.runs_by_program([day for _, day in days]):
            if run.namespace != HIDDEN_NAMESPACE:
                _add(last_runs[checksums[runs.runs[0].key]], [run])
            elif direction is Direction.FORWARD:
                self.truncated_by.add(HIDDEN)
        for name, listed in by_name.items():
            for checksum in listed:
                yield _ContentPrograms(name, checksum, last_runs[checksum])


def _add(last_runs: _LastRuns, runs: Iterable[ProgramRun]) -> None:
    """Keep the newest run of each program."""
    for run in runs:
        last_runs[run.program_id] = min(run, last_runs.get(run.program_id, run), key=newest_first_key)


def _newest_first(content: LastContent) -> tuple[int, str]:
    return newest_first_key(content.run)


def _reads_any(field_map: FieldMap, dataset: Dataset, names: Collection[str]) -> bool:
    """Return whether a content reads any of the named fields of a dataset."""
    return WHOLE_DATASET in names or any(
        field_map.has_source_field(DatasetField(dataset, name)) for name in names
    )
