"""The last content that each program wrote to a dataset in a window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import ProgramId, ProgramRun, RunKey
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.run_reader import newest_first_key
from fll_hbase.store.read.run_times import TimesByName
from fll_hbase.store.read.traversal import DATASETS_PER_READ
from fll_hbase.store.rows.calendar_rows import DayRuns


class LastContent(NamedTuple):
    """A run, the checksum of its content, and the name under which this writes the dataset."""

    run: ProgramRun
    checksum: str
    name: Dataset


LastContents: TypeAlias = dict[tuple[ProgramId, Dataset], LastContent]
"""The last content of a program that wrote a dataset."""


class _WrittenContent(NamedTuple):
    """A wanted dataset, one of its names, and a content that writes it under this name."""

    dataset: Dataset
    name: Dataset
    checksum: str


class LastContentReader(Reader):
    """Finds the last runs of programs by the datasets that they write. Threads may share it."""

    def last_contents(
        self, programs: Mapping[Dataset, Collection[ProgramId]], window: Window, *, truncated_by: set[str]
    ) -> LastContents:
        """Return the last content in which each program wrote each of its datasets, if it has a run.

        Failed runs do not count. Datasets are also found under their aliases. Runs of unsealed days are read
        newest first, up to `runs_max`, which is then added to `truncated_by`. Raises DeadlineExceeded.
        """
        last: LastContents = {}
        budget = self._times.budget()
        listed = sorted(programs)
        for begin in range(0, len(listed), DATASETS_PER_READ):
            datasets = listed[begin : begin + DATASETS_PER_READ]
            queries = [WindowQuery(Direction.BACKWARD, dataset, window) for dataset in datasets]
            times = self._times.times(queries, budget)
            by_dataset = dict(zip(datasets, times, strict=True))
            for dataset, content in self._newest(by_dataset, programs):
                key = content.run.program_id, dataset
                last[key] = min(last.get(key, content), content, key=_newest_first)
        truncated_by |= budget.limits
        return last

    def _newest(
        self, times: Mapping[Dataset, TimesByName], programs: Mapping[Dataset, Collection[ProgramId]]
    ) -> Iterator[tuple[Dataset, LastContent]]:
        """Yield runs of the wanted programs, with the newest run of each program and content among them."""
        contents = {
            _WrittenContent(dataset, name, checksum): listed
            for dataset, by_name in times.items()
            for name, by_checksum in by_name.items()
            for checksum, listed in by_checksum.items()
        }
        missing = {written: set(programs[written.dataset]) for written in contents}
        # Most contents belong to one program. The newest run of each shows that, in one call for all.
        written_by_run: dict[RunKey, list[_WrittenContent]] = defaultdict(list)
        newest: dict[RunKey, DayRuns] = {}
        for written, listed in contents.items():
            key = listed.runs[0].runs[0].key
            written_by_run[key].append(written)
            newest[key] = listed.runs[0]
        for runs, run in self._windows.runs_by_program(list(newest.values())):
            for written in written_by_run.get(runs.runs[0].key, ()):
                if run.program_id in missing[written]:
                    missing[written].discard(run.program_id)
                    yield written.dataset, LastContent(run, written.checksum, written.name)
        for written, wanted in missing.items():
            if wanted:
                for _, run in self._windows.runs_by_program(contents[written].runs):
                    if run.program_id in wanted:
                        yield written.dataset, LastContent(run, written.checksum, written.name)


def _newest_first(content: LastContent) -> tuple[int, str]:
    """Return the sort key of a content: the newest run first."""
    return newest_first_key(content.run)
