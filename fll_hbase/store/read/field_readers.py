"""Programs that read any of some fields in a window, each with its last run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.masking import HIDDEN, HIDDEN_NAMESPACE, is_hidden
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.run_reader import newest_first_key
from fll_hbase.store.read.run_times import TimesByName
from fll_hbase.store.read.traversal import DATASETS_PER_READ

_Program: TypeAlias = tuple[str, str, str, str]


class FieldReaders(NamedTuple):
    """The last run of each program that reads some fields, the newest run first.

    `unknown` are further programs that read the datasets of the fields without naming fields.
    """

    programs: tuple[ProgramRun, ...]
    unknown: tuple[ProgramRun, ...]


class _ContentReaders(NamedTuple):
    """The programs of the runs of a content that read a dataset under one of its names."""

    name: Dataset
    checksum: str
    last_runs: tuple[ProgramRun, ...]


class FieldReadersReader(Reader):
    """Reads programs by the fields that they read. It keeps what it has read of a dataset, for one window."""

    def __init__(self, components: StoreComponents, window: Window, *, failed: bool) -> None:
        super().__init__(components)
        self.truncated_by: set[str] = set()
        self._window = window
        self._failed = failed
        self._by_dataset: dict[Dataset, list[_ContentReaders]] = {}

    def read(self, fields: Collection[DatasetField]) -> FieldReaders:
        """Return the programs that read any of the fields; the field `*` is every field of its dataset.

        Programs of hidden namespaces are left out, and `hidden` is added to `truncated_by`, as is `runs_max`
        if it cut the runs. Raises DeadlineExceeded.
        """
        names: dict[Dataset, set[str]] = defaultdict(set)
        for field in fields:
            if not is_hidden(field.dataset):
                names[field.dataset].add(field.name)
        self._load([dataset for dataset in sorted(names) if dataset not in self._by_dataset])
        readers: dict[_Program, ProgramRun] = {}
        unknown: dict[_Program, ProgramRun] = {}
        for dataset, wanted in names.items():
            for content in self._by_dataset[dataset]:
                field_map = self._contents.field_map(content.checksum)
                if _reads_any(field_map, content.name, wanted):
                    self._add(readers, content.last_runs)
                elif field_map.may_read_more(content.name):
                    self._add(unknown, content.last_runs)
        others = [run for program, run in unknown.items() if program not in readers]
        return FieldReaders(
            tuple(sorted(readers.values(), key=newest_first_key)), tuple(sorted(others, key=newest_first_key))
        )

    def _load(self, datasets: Sequence[Dataset]) -> None:
        """Read the contents that read datasets, and their programs."""
        for begin in range(0, len(datasets), DATASETS_PER_READ):
            chunk = datasets[begin : begin + DATASETS_PER_READ]
            budget = self._times.budget()
            queries = [WindowQuery(Direction.FORWARD, item, self._window, self._failed) for item in chunk]
            times = self._times.times(queries, budget)
            self._contents.load(
                checksum for by_name in times for listed in by_name.values() for checksum in listed
            )
            for dataset, by_name in zip(chunk, times, strict=True):
                self._by_dataset[dataset] = list(self._readers(by_name))
            self.truncated_by |= budget.limits

    def _readers(self, by_name: TimesByName) -> Iterator[_ContentReaders]:
        """Yield the contents that read a dataset, each with the last run of each of its programs."""
        checksums = {
            run.key: checksum
            for listed in by_name.values()
            for checksum, times in listed.items()
            for day in times.runs
            for run in day.runs
        }
        days = [day for listed in by_name.values() for times in listed.values() for day in times.runs]
        last_runs: dict[str, dict[_Program, ProgramRun]] = defaultdict(dict)
        for runs, run in self._windows.runs_by_program(days):
            self._add(last_runs[checksums[runs.runs[0].key]], [run])
        for name, listed in by_name.items():
            for checksum in listed:
                yield _ContentReaders(name, checksum, tuple(last_runs[checksum].values()))

    def _add(self, programs: dict[_Program, ProgramRun], runs: Iterable[ProgramRun]) -> None:
        """Keep the newest run of each program that is not hidden."""
        for run in runs:
            if run.namespace == HIDDEN_NAMESPACE:
                self.truncated_by.add(HIDDEN)
            else:
                program = run.namespace, run.application, run.program, run.type
                programs[program] = min(run, programs.get(program, run), key=newest_first_key)


def _reads_any(field_map: FieldMap, dataset: Dataset, names: Collection[str]) -> bool:
    """Return whether a content reads any of the named fields of a dataset."""
    return WHOLE_DATASET in names or any(
        field_map.has_source_field(DatasetField(dataset, name)) for name in names
    )
